import { describe, expect, it } from 'vitest';
import { DEFAULT_TIER, SOLE_TIER, TIER_NAMES, tierRow } from '../../src/domain/tiers.ts';

const MIB = 1024 * 1024;

describe('the tier table', () => {
  it('is the golden one', async () => {
    const rows = Object.fromEntries(TIER_NAMES.map((name) => [name, tierRow(name)]));
    await expect(JSON.stringify(rows, null, 2)).toMatchFileSnapshot('../golden/tiers.json');
  });

  it('gives a group nobody has given a tier the least', () => {
    expect(DEFAULT_TIER).toBe('untrusted');
    expect(SOLE_TIER).toBe('main');
  });

  it('confines the untrusted tier', () => {
    const { limits, mounts, rights, tiles } = tierRow('untrusted');
    expect(limits).toMatchObject({
      rootfs: 'read-only',
      tmp: { bytes: 64 * MIB },
      memoryBytes: 512 * MIB,
      swap: false,
      cpus: 1,
      pids: 256,
      wallMs: 300_000,
      ipcNamespace: 'none',
    });
    expect(mounts).toMatchObject({ group: 'ro', trusted: 'none', store: 'filtered', ipc: 'split', agents: 'none' });
    expect(rights).toMatchObject({
      readsMessages: 'own-chat',
      mayAddress: 'own-chat',
      environmentCredentials: 'none',
      otherCredentials: 'none',
      persona: 'public',
      sharedMemory: false,
      scheduleTasks: 'none',
      manageGroups: false,
    });
    expect(tiles).toEqual(['core', 'untrusted']);
  });

  it('seals the network in every tier', () => {
    for (const name of TIER_NAMES) expect(tierRow(name).rights.network).toBe('sealed');
  });
});
