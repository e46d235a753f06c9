/**
 * From a file's rename into `messages/` to its request being acted on, against a bare `fs.watch` callback on the same
 * directory. Another process writes; both are measured from just before its rename.
 */
import { once } from 'node:events';
import { watch } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ulid } from 'ulid';
import { z } from 'zod';
import { type Directory, openDirectory } from '../../src/files/beneath.ts';
import { INBOX_LIMITS, type InboxLimits, openInbox } from '../../src/flow/ipc.ts';
import { atMost, type Bench, ratioAtMost } from './bench.ts';
import { type Child, startChild } from './child.ts';
import { PutAt, WRITER_ROLE } from './ipc-writer.ts';
import { figure, interleave } from './statistics.ts';

const RATIO_BAR = 3;
const SWEEP_BAR_MS = 1000;
const FILES_PER_ROUND = 10;
/** Longer than the watcher's own pause after a hint, so that each file finds it armed. */
const BETWEEN_FILES_MS = 40;
/** The container's user; any but ours. */
const UID = 10_001;

interface Place {
  readonly directory: string;
  readonly messages: string;
  readonly quarantine: Directory;
  readonly writer: Child;
}

const sinceMs = (sent: string, heard: bigint): number => Number(heard - BigInt(sent)) / 1e6;

/** Writes the files; the time until `heard` has the last of them, in ms. */
const putAndWait = async (writer: Child, ids: readonly string[], heard: Promise<bigint>): Promise<number> => {
  const { at } = await writer.ask({ ids }, PutAt);
  return sinceMs(at, await heard);
};

const rounds = async (one: () => Promise<number>): Promise<number[]> => {
  const times: number[] = [];
  for (let file = 0; file < FILES_PER_ROUND; file += 1) {
    await delay(BETWEEN_FILES_MS);
    times.push(await one());
  }
  return times;
};

/** The callback for the name itself: the temporary file's events come first. */
const bareWatch = async ({ messages, writer }: Place): Promise<number[]> => {
  const watcher = watch(messages);
  try {
    return await rounds(async () => {
      const id = ulid();
      const heard = new Promise<bigint>((resolve) => {
        const listen = (_kind: string, name: string | Buffer | null): void => {
          if (name !== `${id}.json`) return;
          watcher.off('change', listen);
          resolve(process.hrtime.bigint());
        };
        watcher.on('change', listen);
      });
      const time = await putAndWait(writer, [id], heard);
      await rm(join(messages, `${id}.json`));
      return time;
    });
  } finally {
    watcher.close();
    await once(watcher, 'close');
  }
};

const fail = (thrown: unknown): never => {
  throw thrown;
};

/** An inbox as a turn has it, and when its requests were acted on. */
const openTimed = async ({ directory, quarantine }: Place, limits: InboxLimits) => {
  const waiting = new Map<string, (heard: bigint) => void>();
  const inbox = await openInbox({
    directory,
    layout: 'split',
    uid: UID,
    quarantine,
    limits,
    onRequest: async ({ id }) => {
      waiting.get(id)?.(process.hrtime.bigint());
      return { ok: true, detail: 'sent' };
    },
    onOther: fail,
    onRefusal: (kind, detail) => fail(new Error(`${kind}: ${detail}`)),
    onFlood: (detail) => fail(new Error(detail)),
    onError: fail,
    poke: () => undefined,
  });
  const heard = (id: string): Promise<bigint> => new Promise((resolve) => waiting.set(id, resolve));
  return { heard, close: () => inbox.close() };
};

/** The rate is out of the way: it is not what is measured here. */
const QUICK: InboxLimits = { ...INBOX_LIMITS, filesPerSecond: 10_000, burst: 10_000 };

const inboxRound = async (place: Place): Promise<number[]> => {
  const inbox = await openTimed(place, QUICK);
  try {
    return await rounds(() => {
      const id = ulid();
      return putAndWait(place.writer, [id], inbox.heard(id));
    });
  } finally {
    await inbox.close();
  }
};

/** The second of two files finds the rate used up at every hint, so nothing but the sweep comes back for it. */
const SLOW: InboxLimits = { ...INBOX_LIMITS, filesPerSecond: 20, burst: 1 };

const sweepOnce = async (place: Place, phase: number): Promise<number> => {
  const inbox = await openTimed(place, SLOW);
  try {
    await delay(phase * INBOX_LIMITS.sweepMs);
    const [first, second] = [ulid(1), ulid(2)];
    return await putAndWait(place.writer, [first, second], inbox.heard(second));
  } finally {
    await inbox.close();
  }
};

const measureIn = async (
  place: Place,
  { runs, tell }: Parameters<Bench['measure']>[0],
): ReturnType<Bench['measure']> => {
  const [bare, acted, swept]: [number[], number[], number[]] = [[], [], []];
  tell(`${runs * FILES_PER_ROUND} files each way`);
  await interleave(runs, [
    async () => void acted.push(...(await inboxRound(place))),
    async () => void bare.push(...(await bareWatch(place))),
  ]);
  tell(`${runs} files that only the sweep finds`);
  for (let run = 0; run < runs; run += 1) swept.push(await sweepOnce(place, run / runs));
  const ours = figure('file acted on', 'ms', acted);
  const against = figure('bare fs.watch callback', 'ms', bare);
  const sweep = figure('file that no hint tells of', 'ms', swept);
  return {
    checks: [
      ratioAtMost(ours, against, RATIO_BAR),
      atMost('file that no hint tells of, worst', sweep.most, { bar: SWEEP_BAR_MS, unit: 'ms' }),
    ],
    figures: [ours, against, sweep],
    notes: [
      'acted on: hint, open beneath, check and read at once (two trips to Node’s thread pool), parse; then its performer is called',
      `the sweep’s interval is ${INBOX_LIMITS.sweepMs} ms`,
    ],
  };
};

const measure: Bench['measure'] = async (options) => {
  const base = await mkdtemp(join(tmpdir(), 'tierclaw-bench-ipc-'));
  const directory = join(base, 'ipc', 'turn');
  const messages = join(directory, 'messages');
  await mkdir(messages, { recursive: true });
  await mkdir(join(base, 'quarantine'));
  const quarantine = await openDirectory(join(base, 'quarantine'));
  const writer = await startChild([WRITER_ROLE, messages], z.unknown());
  try {
    return await measureIn({ directory, messages, quarantine, writer }, options);
  } finally {
    await writer.close();
    await quarantine.close();
    await rm(base, { recursive: true, force: true });
  }
};

export const ipc: Bench = {
  name: 'ipc',
  title: 'a request file acted on, against a bare fs.watch callback on the same directory',
  measure,
};
