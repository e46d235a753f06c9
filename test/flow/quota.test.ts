import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { AuditEvent } from '../../src/audit.ts';
import { parseConfig } from '../../src/config.ts';
import type { InvocationPlan } from '../../src/domain/plan.ts';
import { createMeasurer, type Measurer } from '../../src/files/measurer.ts';
import { createDiskGuard, type DiskEnd, type DiskGuard } from '../../src/flow/quota.ts';
import { createFloor } from '../../src/flow/quota-floor.ts';
import type { LowPlace, Spaces } from '../../src/flow/quota-space.ts';
import { TurnDisk } from '../../src/flow/quota-turn.ts';
import { type Home, homeAt } from '../../src/home.ts';
import { packageRoot } from '../../src/package-root.ts';
import { exampleGroup, examplePlan } from '../../src/planning.ts';

const MIB = 1024 * 1024;
const WORKER = join(packageRoot(), 'dist', 'measure-worker.mjs');

let home: Home;
let measurer: Measurer;
let guard: DiskGuard;
let recorded: AuditEvent[];
let held: string[];
const closers: (() => void)[] = [];

const open = (floor = 0): DiskGuard =>
  createDiskGuard({
    config: { floorBytes: floor, floorShare: 0 },
    paths: () => [home.dir, join(home.dir, 'nowhere')],
    measurer,
    audit: { record: (event) => void recorded.push(event) },
    logger: pino({ level: 'silent' }),
    onHeld: (chat) => void held.push(chat),
  });

beforeEach(async () => {
  home = homeAt(await mkdtemp(join(tmpdir(), 'tierclaw-quota-')));
  measurer = createMeasurer(WORKER);
  recorded = [];
  held = [];
  guard = open();
});
afterEach(async () => {
  for (const close of closers.splice(0)) close();
  guard.close();
  await measurer.close();
  await rm(home.dir, { recursive: true, force: true });
});

/** A turn that may keep 10 MB in its group's directory. */
const planOf = (): InvocationPlan => {
  const config = parseConfig(`quotas: { tiers: { trusted: { mountBytes: ${10 * MIB}, mountFiles: 100 } } }`, 'f');
  const plan = examplePlan({ home, config, image: 'none' }, exampleGroup('trusted'));
  for (const { source } of plan.mounts) mkdirSync(source, { recursive: true });
  return plan;
};

const groupOf = ({ mounts }: InvocationPlan): string =>
  mounts.find(({ target }) => target === '/workspace/group')?.source ?? '';

const put = (directory: string, name: string, mb: number): void =>
  writeFileSync(join(directory, name), Buffer.alloc(mb * MIB, 1));

/** Judged at the start; what is written from now on is the turn's. */
const watch = async (plan: InvocationPlan) => {
  const ends: DiskEnd[] = [];
  // The thread is there by then, as it is in a supervisor after its first turn.
  await measurer.measure({ uid: 1, trees: [], container: null });
  const watched = guard.watch({ plan, end: (end) => void ends.push(end) });
  closers.push(watched.close);
  const warning = await watched.warning();
  return { ends, warning, close: watched.close };
};

describe('a turn that is watched', () => {
  it('ends once, on record, when a place grows beyond its quota', async () => {
    const plan = planOf();
    const { ends, warning } = await watch(plan);
    expect(warning).toBe('');
    put(groupOf(plan), 'a', 11);
    await expect.poll(() => ends, { timeout: 10_000 }).toHaveLength(1);
    expect(ends[0]).toMatchObject({ kind: 'exceeded', place: '/workspace/group' });
    expect(recorded).toEqual([
      expect.objectContaining({
        kind: 'quota-exceeded',
        place: '/workspace/group',
        allowed: 10 * MIB,
        tier: plan.tier,
      }),
    ]);
    put(groupOf(plan), 'b', 11);
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    expect(ends).toHaveLength(1);
  });

  it('that begins too full is told so, may shrink, and ends where it grows', async () => {
    const plan = planOf();
    put(groupOf(plan), 'a', 11);
    const { ends, warning } = await watch(plan);
    expect(warning).toMatch(/\/workspace\/group holds 11\.\d MB; 10\.0 MB are allowed.*Delete/s);
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    expect(ends).toEqual([]);
    put(groupOf(plan), 'b', 12);
    await expect.poll(() => ends.map(({ kind }) => kind), { timeout: 10_000 }).toEqual(['exceeded']);
  });

  it('does not begin where a place is twice too full', async () => {
    const plan = planOf();
    put(groupOf(plan), 'a', 21);
    const { ends } = await watch(plan);
    await expect.poll(() => ends.map(({ kind }) => kind), { timeout: 10_000 }).toEqual(['full']);
    expect(ends[0]?.detail).toContain(`make room in ${groupOf(plan)}`);
  });

  it('is counted by its files, too', async () => {
    const plan = planOf();
    const { ends } = await watch(plan);
    for (let at = 0; at < 150; at += 1) writeFileSync(join(groupOf(plan), `f${at}`), '');
    await expect.poll(() => ends, { timeout: 10_000 }).toHaveLength(1);
    expect(ends[0]?.excess).toMatchObject({ unit: 'files', allowed: 100 });
  });

  it('ends even if that can’t be put on record', async () => {
    guard.close();
    guard = createDiskGuard({
      config: { floorBytes: 0, floorShare: 0 },
      paths: () => [home.dir],
      measurer,
      audit: {
        record: () => {
          throw new Error('no space left');
        },
      },
      logger: pino({ level: 'silent' }),
      onHeld: () => undefined,
    });
    const plan = planOf();
    const { ends } = await watch(plan);
    put(groupOf(plan), 'a', 11);
    await expect.poll(() => ends, { timeout: 10_000 }).toHaveLength(1);
  });

  it('is watched no more once it is closed', async () => {
    const plan = planOf();
    const { ends, close } = await watch(plan);
    close();
    put(groupOf(plan), 'a', 30);
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    expect(ends).toEqual([]);
  });
});

describe('the guard below its floor', () => {
  it('holds every chat, and tells each once', async () => {
    guard.close();
    guard = open(Number.MAX_SAFE_INTEGER);
    await guard.look();
    expect(guard.low()).toEqual([expect.stringMatching(/MB free; turns need/)]);
    const { id } = exampleGroup('trusted');
    expect([guard.holds(id), guard.holds(id)]).toEqual([true, true]);
    expect(held).toEqual([id]);
    expect(recorded).toMatchObject([{ kind: 'floor-reached' }]);
    await guard.look();
    expect(recorded).toHaveLength(1);
  });
});

describe('the measurer', () => {
  const job = (path: string) => ({ uid: 1, trees: [{ path, bounds: { bytes: null, files: null } }], container: null });

  it('keeps a small tree from waiting for a large one', async () => {
    mkdirSync(join(home.dir, 'large'));
    mkdirSync(join(home.dir, 'small'));
    for (let at = 0; at < 20_000; at += 1) writeFileSync(join(home.dir, 'large', `f${at}`), '');
    const order: string[] = [];
    const large = measurer.measure(job(join(home.dir, 'large'))).then(() => order.push('large'));
    const small = measurer.measure(job(join(home.dir, 'small'))).then(() => order.push('small'));
    await Promise.all([large, small]);
    expect(order).toEqual(['small', 'large']);
  });

  it('refuses once it is closed, and leaves no descriptor', async () => {
    await measurer.measure(job(home.dir));
    const before = readdirSync('/proc/self/fd').length;
    await measurer.measure(job(home.dir));
    expect(readdirSync('/proc/self/fd').length).toBe(before);
    await measurer.close();
    await expect(measurer.measure(job(home.dir))).rejects.toMatchObject({ code: 'internal' });
  });
});

describe('a disk that is nearly full', () => {
  const low = (isDire = false): LowPlace => ({ path: '/', why: 'little', isDire });
  const spacesOf = (places: readonly LowPlace[]): Spaces => ({
    look: async () => undefined,
    low: () => places,
    freeBytes: () => 0,
  });

  /** What a turn has done, as far as it is known. */
  const turnWith = (name: string, grown: number, written: number) => {
    const ends: DiskEnd[] = [];
    const turn = new TurnDisk({
      plan: planOf(),
      measurer,
      onEnd: (end) => void ends.push(end),
      onError: () => undefined,
    });
    turn.growth = () => grown * MIB;
    turn.written = () => written * MIB;
    turn.acquit = () => {
      turn.growth = () => 0;
    };
    closers.push(() => turn.close());
    return { name, turn, ends };
  };

  const ended = (turns: readonly ReturnType<typeof turnWith>[]) =>
    turns.filter(({ ends }) => ends.length > 0).map(({ name }) => name);

  const floorOver = (places: readonly LowPlace[]) =>
    createFloor({ spaces: spacesOf(places), onLow: () => undefined, onRecovered: () => undefined });

  it('ends who has grown most, and whoever shares his directory only if he goes on', () => {
    const turns = [turnWith('small', 1, 5), turnWith('bystander', 800, 2), turnWith('hog', 801, 800)];
    const floor = floorOver([low()]);
    const all = turns.map(({ turn }) => turn);
    floor.tick(all, 0);
    expect(ended(turns)).toEqual(['hog']);
    floor.tick(all, 1_000);
    floor.tick(all, 10_000);
    expect(ended(turns)).toEqual(['hog']);
  });

  it('ends nobody for what others have filled, and in dire need who has written much unseen', () => {
    const turns = [turnWith('small', 1, 5), turnWith('hidden', 0, 900)];
    const all = turns.map(({ turn }) => turn);
    floorOver([low()]).tick(all, 0);
    expect(ended(turns)).toEqual([]);
    floorOver([low(true)]).tick(all, 0);
    expect(ended(turns)).toEqual(['hidden']);
  });

  it('with room again ends nobody', () => {
    const turns = [turnWith('hog', 801, 800)];
    floorOver([]).tick(
      turns.map(({ turn }) => turn),
      0,
    );
    expect(ended(turns)).toEqual([]);
  });
});
