/**
 * Files of the host's own that have been kept long enough: below `data/`, where no container can put anything. By the
 * time that an entry came there (its change time), not by a date that its content may have brought along.
 */
import type { Stats } from 'node:fs';
import { lstat, readdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setImmediate as giveWay } from 'node:timers/promises';
import type { RetentionConfig } from '../domain/retention-config.ts';
import { isErrno } from '../errors.ts';
import { measureTree } from '../files/measure.ts';
import { removeTree } from '../files/tree.ts';
import type { Home } from '../home.ts';
import type { Collected, Collector } from './gc.ts';
import { oldLogFiles } from './log-files.ts';

const DAY_MS = 24 * 3_600_000;
const BLOCK_BYTES = 512;
/** Whoever put something into the trash is still deleting it himself, if it is younger. */
const TRASH_MS = 3_600_000;

interface Entry {
  readonly path: string;
  readonly stats: Stats;
}

/** Other rounds, and whoever uses them, may take entries away at any moment. */
const orIfGone = async <T>(work: () => Promise<T>, gone: T): Promise<T> => {
  try {
    return await work();
  } catch (thrown) {
    if (isErrno(thrown, 'ENOENT') || isErrno(thrown, 'ENOTDIR')) return gone;
    throw thrown;
  }
};

const entriesOf = async (directory: string): Promise<Entry[]> => {
  const names = await orIfGone(() => readdir(directory), []);
  const found: Entry[] = [];
  for (const path of names.map((name) => join(directory, name))) {
    const stats = await orIfGone(() => lstat(path), null);
    if (stats !== null) found.push({ path, stats });
  }
  return found;
};

/** Strangers make trees that no path leads to the bottom of, and wide ones: others get their turn in between. */
const bytesOf = async ({ path, stats }: Entry): Promise<number> => {
  const own = stats.blocks * BLOCK_BYTES;
  if (!stats.isDirectory()) return own;
  const walk = measureTree(path, { bytes: null, files: null }, stats.uid);
  for (let step = walk.next(); ; step = walk.next()) {
    if (step.done === true) return own + step.value.bytes;
    await giveWay();
  }
};

interface Expired {
  readonly kind: string;
  readonly entries: readonly Entry[];
  readonly remove: (path: string) => Promise<void>;
}

const removeSmall = (path: string): Promise<void> => rm(path, { recursive: true, force: true });

const clear = async ({ kind, entries, remove }: Expired, dryRun: boolean): Promise<Collected> => {
  let bytes = 0;
  for (const entry of entries) {
    bytes += await bytesOf(entry);
    if (!dryRun) await remove(entry.path);
  }
  return { kind, found: entries.length, removed: dryRun ? 0 : entries.length, bytes };
};

const olderThan =
  (days: number | null, nowMs: number) =>
  ({ stats }: Entry): boolean =>
    days !== null && nowMs - stats.ctimeMs > days * DAY_MS;

/** `data/outfiles/<group>/<id>/<name>`. */
const sentFiles = async (home: Home): Promise<Entry[]> => {
  const groups = await entriesOf(home.outfiles);
  return (await Promise.all(groups.map(({ path }) => entriesOf(path)))).flat();
};

const replacedDatabases = async (home: Home): Promise<Entry[]> => {
  const places = [home.data, dirname(home.messageDatabase)];
  const all = (await Promise.all(places.map(entriesOf))).flat();
  return all.filter(({ path }) => /\.db\.damaged-\d{8}T\d{9}Z(-wal|-shm|-journal)?$/.test(path));
};

const oldLogs = async (home: Home): Promise<Entry[]> => {
  const paths = new Set(oldLogFiles(home));
  return (await entriesOf(home.logs)).filter(({ path }) => paths.has(path));
};

export interface FileRetention {
  readonly home: Home;
  readonly policy: RetentionConfig;
  /** Ms since 1970. */
  readonly nowMs: number;
  /** Files that are still to be sent. */
  readonly keep: () => ReadonlySet<string>;
}

/** The trash is large trees of strangers' making: a child process deletes them. */
export const fileCollectors = ({ home, policy, nowMs, keep }: FileRetention): Collector[] => {
  const collector = (kind: string, find: () => Promise<Entry[]>, remove = removeSmall): Collector => ({
    name: kind,
    collect: async (dryRun) => [await clear({ kind, entries: await find(), remove }, dryRun)],
  });
  const expired = async (entries: Promise<Entry[]>, days: number | null) =>
    (await entries).filter(olderThan(days, nowMs));
  return [
    collector('quarantine', () => expired(entriesOf(home.quarantine), policy.quarantineDays)),
    collector('sent files', async () => {
      const needed = new Set([...keep()].map((path) => dirname(path)));
      return (await expired(sentFiles(home), policy.sentFilesDays)).filter(({ path }) => !needed.has(path));
    }),
    collector('old logs', () => expired(oldLogs(home), policy.logsDays)),
    collector('replaced databases', () => expired(replacedDatabases(home), policy.replacedDatabasesDays)),
    collector('trash', () => expired(entriesOf(home.trash), TRASH_MS / DAY_MS), removeTree),
  ];
};
