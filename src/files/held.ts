/**
 * What the processes of one container hold on the host's disk though no directory shows it: files that were deleted
 * while open or mapped; and how much they have written. Blocking, for a thread of its own. It looks from outside
 * (`/proc`), so it sees nothing where the engine is in another machine.
 */
import { readdirSync, readFileSync, readlinkSync, statfsSync, statSync } from 'node:fs';

/** linux/magic.h */
const TMPFS_MAGIC = 0x01021994;
const BLOCK_BYTES = 512;
const DELETED = ' (deleted)';
const LINKS_PER_SLICE = 256;

export interface Held {
  /** Allocated by deleted files. */
  readonly bytes: number;
  readonly files: number;
  /** By the processes that live, and by those that they have outlived: to be compared, not added up. */
  readonly written: number;
}

/** Processes come and go, and another user's can't be looked into: then there is nothing to say about them. */
const orNothing = <T>(look: () => T, nothing: T): T => {
  try {
    return look();
  } catch {
    return nothing;
  }
};

const isOf = (pid: string, container: string): boolean =>
  orNothing(() => readFileSync(`/proc/${pid}/cgroup`, 'latin1').includes(container), false);

const writtenBy = (pid: string): number => {
  const text = orNothing(() => readFileSync(`/proc/${pid}/io`, 'latin1'), '');
  return Number(/^write_bytes: (\d+)$/m.exec(text)?.[1] ?? 0);
};

const entriesOf = (directory: string): string[] => orNothing(() => readdirSync(directory), []);

const linksIn = (directory: string): string[] => entriesOf(directory).map((name) => `${directory}/${name}`);

/**
 * Directory by directory. A thread may have descriptors of its own, and the first one may be gone, with its view of what
 * all of them have in common.
 */
function* linksOf(pid: string): Generator<string[]> {
  const threads = entriesOf(`/proc/${pid}/task`);
  for (const thread of threads) yield linksIn(`/proc/${thread}/fd`);
  const mapped = threads.find((thread) => entriesOf(`/proc/${thread}/map_files`).length > 0);
  if (mapped !== undefined) yield linksIn(`/proc/${mapped}/map_files`);
}

interface Tally {
  readonly seen: Set<string>;
  bytes: number;
}

/** The link is the kernel's: what it leads to is the open file itself, whatever stands at its name by now. */
const countLink = (tally: Tally, link: string): void => {
  if (!orNothing(() => readlinkSync(link, 'latin1'), '').endsWith(DELETED)) return;
  const stats = orNothing(() => statSync(link), null);
  if (stats === null || !stats.isFile() || stats.nlink > 0) return;
  const key = `${stats.dev}:${stats.ino}`;
  if (tally.seen.has(key) || orNothing(() => statfsSync(link).type, TMPFS_MAGIC) === TMPFS_MAGIC) return;
  tally.seen.add(key);
  tally.bytes += stats.blocks * BLOCK_BYTES;
};

function* countLinks(tally: Tally, links: readonly string[]): Generator<void> {
  for (const [at, link] of links.entries()) {
    countLink(tally, link);
    if (at % LINKS_PER_SLICE === 0) yield;
  }
}

/** `container` is its id, as cgroups are named after it. */
export function* measureHeld(container: string): Generator<void, Held> {
  const tally: Tally = { seen: new Set(), bytes: 0 };
  let written = 0;
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  for (const pid of pids.filter((one) => isOf(one, container))) {
    written += writtenBy(pid);
    for (const links of linksOf(pid)) yield* countLinks(tally, links);
  }
  return { bytes: tally.bytes, files: tally.seen.size, written };
}
