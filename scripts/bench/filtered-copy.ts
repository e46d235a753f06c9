/**
 * The filtered copy of a chat of 1,000 messages out of 1,000,000 against the same out of 10,000, and against a plain
 * copy of the large file; meanwhile, how late the event loop is.
 */
import { copyFile, mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { loadConfig } from '../../src/config.ts';
import type { Home } from '../../src/home.ts';
import { packageRoot } from '../../src/package-root.ts';
import { type Copier, createCopier } from '../../src/store/copier.ts';
import { atMost, type Bench, type BenchOptions, ratioAtMost } from './bench.ts';
import { type Lateness, worstLateness } from './lateness.ts';
import { type Figure, figure, interleave, ratio, timed } from './statistics.ts';
import { chatAt, MESSAGES_PER_CHAT, storeWith } from './stores.ts';

const SMALL_CHATS = 10;
const LARGE_CHATS = 1000;
const SIZE_RATIO_BAR = 1.5;
const FILE_RATIO_BAR = 1 / 20;
const LAG_BAR_MS = 10;

interface Series {
  readonly copyMs: number[];
  /** The worst of each copy. */
  readonly late: Lateness[];
}

interface Source {
  readonly chats: number;
  readonly series: Series;
  /** Copies one chat, another one each time, into that file. */
  copy(target: string): Promise<void>;
  close(): Promise<void>;
}

const openSource = async (home: Home, chats: number): Promise<Source> => {
  const { history, store } = await loadConfig(home);
  const copier: Copier = createCopier({
    workerFile: join(packageRoot(), 'dist', 'copy-worker.mjs'),
    home,
    windowMessages: history.window,
    publishEveryMs: store.publishEverySeconds * 1000,
    clock: Date.now,
  });
  // As in a supervisor: the live store is open in this process, too.
  const live = new Database(home.messageDatabase);
  live.prepare('SELECT count(*) FROM chats').get();
  const state = { copies: 0 };
  return {
    chats,
    series: { copyMs: [], late: [] },
    copy: (target) => {
      state.copies += 1;
      // All over the store, and never the same chat twice in the large one.
      return copier.filtered(chatAt((state.copies * 37) % chats), target);
    },
    close: async () => {
      await copier.close();
      live.close();
    },
  };
};

const copyOnce = async (source: Source, target: string): Promise<void> => {
  const late = await worstLateness(async () => {
    const { ms } = await timed(() => source.copy(target));
    source.series.copyMs.push(ms);
  });
  source.series.late.push(late);
  await rm(target);
};

const WARM_UPS = 3;

const warmUp = async (sources: readonly Source[], target: string): Promise<void> => {
  for (let time = 0; time < WARM_UPS; time += 1) {
    for (const source of sources) await source.copy(target);
  }
  await rm(target);
};

const filteredFigure = ({ chats, series }: Source): Figure =>
  figure(`filtered copy out of ${(chats * MESSAGES_PER_CHAT).toLocaleString('en')} messages`, 'ms', series.copyMs);

const measureIn = async (
  directory: string,
  { small, large, file }: { small: Source; large: Source; file: string },
  { runs, tell }: BenchOptions,
): ReturnType<Bench['measure']> => {
  const target = join(directory, 'copy.db');
  await warmUp([small, large], target);
  const [whole, idle]: [number[], Lateness[]] = [[], []];
  tell(`${runs} copies each`);
  await interleave(runs, [
    () => copyOnce(large, target),
    () => copyOnce(small, target),
    async () => {
      whole.push((await timed(() => copyFile(file, target))).ms);
      await rm(target);
    },
    async () => void idle.push(await worstLateness(() => delay(10))),
  ]);
  const [ours, against] = [filteredFigure(large), filteredFigure(small)];
  const plain = figure('plain copy of the large file', 'ms', whole);
  const late = [...large.series.late, ...small.series.late];
  const ownMs = late.map(({ worstMs, waitedMs }) => worstMs - waitedMs);
  const lag = figure('event loop’s worst lateness during a copy, of our own', 'ms', ownMs);
  const { size } = await stat(file);
  return {
    checks: [
      ratioAtMost(ours, against, SIZE_RATIO_BAR),
      ratioAtMost(ours, plain, FILE_RATIO_BAR),
      atMost(`${lag.name}, worst of all`, lag.most, { bar: LAG_BAR_MS, unit: 'ms' }),
    ],
    figures: [
      ...[ours, against, plain, lag],
      figure(
        '  of that, collecting garbage',
        'ms',
        late.map(({ collectingMs }) => collectingMs),
      ),
      figure(
        '  beside it, waiting for a core',
        'ms',
        late.map(({ waitedMs }) => waitedMs),
      ),
      figure(
        'the same with nothing going on',
        'ms',
        idle.map(({ worstMs, waitedMs }) => worstMs - waitedMs),
      ),
    ],
    notes: [
      `a chat has ${MESSAGES_PER_CHAT} messages, the large store ${(size / 1e6).toFixed(0)} MB; a filtered copy is ${(1 / ratio(ours, plain)).toFixed(0)} times as fast as a plain one`,
      'the bar is on what our own work held the loop; waiting for a core is what else runs on the machine, the copying thread among it',
      'the filtered copy is synced to disk, the plain one is not; both files are in the page cache',
    ],
  };
};

const measure: Bench['measure'] = async (options) => {
  const smallHome = await storeWith(SMALL_CHATS, options.tell);
  const largeHome = await storeWith(LARGE_CHATS, options.tell);
  const directory = await mkdtemp(join(tmpdir(), 'tierclaw-bench-copy-'));
  const [small, large] = [await openSource(smallHome, SMALL_CHATS), await openSource(largeHome, LARGE_CHATS)];
  try {
    return await measureIn(directory, { small, large, file: largeHome.messageDatabase }, options);
  } finally {
    await Promise.all([small.close(), large.close()]);
    await rm(directory, { recursive: true, force: true });
  }
};

export const filteredCopy: Bench = {
  name: 'filtered-copy',
  title: 'one chat’s copy out of a large store, against a small store and against copying the file',
  measure,
};
