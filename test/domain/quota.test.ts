import { describe, expect, it } from 'vitest';
import { DiskConfig, floorBytes, lowSpace } from '../../src/domain/disk-config.ts';
import { GroupId } from '../../src/domain/ids.ts';
import { excessOf, excessText, judgeStart, largestPlace, QuotaConfig, quotasFor } from '../../src/domain/quota.ts';
import { DEFAULT_TIER, tierRow } from '../../src/domain/tiers.ts';

const MIB = 1024 * 1024;
const GIB = 1024 * MIB;
const LOBBY = GroupId.parse('local:lobby');

describe('quotas', () => {
  const own = tierRow(DEFAULT_TIER).quotas;
  const whose = { tier: DEFAULT_TIER, group: LOBBY };

  it('are the tier’s; the file changes them by tier, and by group after that', () => {
    expect(quotasFor(own, QuotaConfig.parse({}), whose)).toEqual(own);
    const config = QuotaConfig.parse({
      tiers: { [DEFAULT_TIER]: { ipcBytes: 2 * MIB, ipcFiles: null } },
      groups: { [LOBBY]: { ipcBytes: 4 * MIB } },
    });
    expect(quotasFor(own, config, whose)).toEqual({ ...own, ipcBytes: 4 * MIB, ipcFiles: null });
    const other = { ...whose, group: GroupId.parse('local:other') };
    expect(quotasFor(own, config, other)).toEqual({ ...own, ipcBytes: 2 * MIB, ipcFiles: null });
  });

  it.each([[{ ipcBytes: 0 }], [{ ipcBytes: 1.5 * MIB + 0.5 }], [{ ipcByte: MIB }], [{ mountFiles: -1 }]])(
    'can’t be %j',
    (quotas) => {
      expect(QuotaConfig.safeParse({ groups: { [LOBBY]: quotas } }).success).toBe(false);
    },
  );

  it.each([
    [[1, 5, 3], 5],
    [[1, null], null],
    [[], null],
  ])('of %j give a largest file of %s', (sizes, most) => {
    expect(largestPlace(sizes.map((bytes) => ({ place: '/x', bytes, files: 1 })))).toBe(most);
  });
});

describe('a measured place', () => {
  it.each([
    [{ bytes: 10, files: 10 }, null],
    [
      { bytes: 11, files: 10 },
      { unit: 'bytes', measured: 11, allowed: 10 },
    ],
    [
      { bytes: 10, files: 11 },
      { unit: 'files', measured: 11, allowed: 10 },
    ],
  ])('that holds %j of 10 each', (used, excess) => {
    expect(excessOf(used, { bytes: 10, files: 10 })).toEqual(excess);
    expect(excessOf(used, { bytes: null, files: null })).toBeNull();
  });

  const quota = { bytes: 100 * MIB, files: 10_000 };

  it('within its quota may hold that much, and no more because it was nearly full', () => {
    expect(judgeStart(quota, { bytes: 100 * MIB, files: 1 })).toEqual({ kind: 'open', allowed: quota, over: null });
  });

  it('over its quota may be tidied up, and hold little more than it does', () => {
    expect(judgeStart(quota, { bytes: 150 * MIB, files: 1 })).toEqual({
      kind: 'open',
      allowed: { bytes: 158 * MIB, files: 10_000 },
      over: { unit: 'bytes', measured: 150 * MIB, allowed: 100 * MIB },
    });
  });

  it('never may hold more than twice its quota, turn after turn', () => {
    expect(judgeStart(quota, { bytes: 199 * MIB, files: 1 })).toMatchObject({ allowed: { bytes: 200 * MIB } });
    expect(judgeStart(quota, { bytes: 200 * MIB + 1, files: 1 })).toEqual({
      kind: 'full',
      excess: { unit: 'bytes', measured: 200 * MIB + 1, allowed: 100 * MIB },
    });
    expect(judgeStart(quota, { bytes: 1, files: 20_001 })).toMatchObject({ kind: 'full', excess: { unit: 'files' } });
  });

  it('is described in a sentence', () => {
    expect(excessText('/', { unit: 'files', measured: 3, allowed: 2 })).toBe(
      'the writable root layer holds 3 files; 2 files are allowed',
    );
  });
});

describe('the floor', () => {
  it.each([
    ['a small disk: a tenth', 4 * GIB, 0.4 * GIB],
    ['an ordinary one: a GiB', 40 * GIB, GIB],
    ['a large one: its share', 250 * GIB, 5 * GIB],
    ['a huge one: 10 GiB', 10_000 * GIB, 10 * GIB],
  ])('of %s', (_, total, floor) => {
    expect(floorBytes(DiskConfig.parse({}), total)).toBe(Math.floor(floor));
  });

  const space = { freeBytes: 5 * GIB, totalBytes: 250 * GIB, freeFiles: 1_000_000, totalFiles: 16_000_000 };
  const judge = (change: Partial<typeof space>, wasLow = false, config = {}) =>
    lowSpace(DiskConfig.parse(config), { ...space, ...change }, wasLow);

  it('is kept for bytes and for files, and can be set or switched off', () => {
    expect(judge({})).toBeNull();
    expect(judge({ freeBytes: 4 * GIB })).toBe('4096 MB free; turns need 5120 MB');
    expect(judge({ freeFiles: 100 })).toBe('room for 100 files; turns need 10000');
    expect(judge({ freeFiles: 0, totalFiles: 0 })).toBeNull();
    expect(judge({ freeBytes: 4 * GIB }, false, { floorBytes: 3 * GIB })).toBeNull();
    expect(judge({ freeBytes: 0, freeFiles: 0 }, false, { floorBytes: 0 })).toBeNull();
  });

  it('is left behind only with a little more room than it asks for', () => {
    expect(judge({ freeBytes: 5.1 * GIB }, true)).not.toBeNull();
    expect(judge({ freeBytes: 5.6 * GIB }, true)).toBeNull();
  });
});
