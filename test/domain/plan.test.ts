import { describe, expect, it } from 'vitest';
import type { Grant } from '../../src/domain/group.ts';
import { AgentAlias, GroupFolder, GroupId, InvocationId } from '../../src/domain/ids.ts';
import type { InvocationPlan } from '../../src/domain/plan.ts';
import { containerSpec, planInvocation, plannedLimits } from '../../src/domain/spec.ts';
import { DEFAULT_TIER, SOLE_TIER, TIER_NAMES, type TierName, tierRow } from '../../src/domain/tiers.ts';

const planOf = (tier: TierName, grants: readonly Grant[] = []): InvocationPlan =>
  planInvocation({
    invocation: InvocationId.parse('01ARZ3NDEKTSV4RRFFQ69G5FAV'),
    home: '/home/tc',
    group: {
      id: GroupId.parse('local:somewhere'),
      name: 'Somewhere',
      folder: GroupFolder.parse('somewhere'),
      tier,
      agent: AgentAlias.parse('default'),
      registeredAt: '2026-01-01T00:00:00.000Z',
    },
    row: tierRow(tier),
    grants,
    roots: {
      group: '/home/tc/groups/somewhere',
      global: '/home/tc/groups/global',
      trusted: '/home/tc/trusted',
      agent: '/home/tc/agents/default/workspace',
      siblingWorkspace: (alias) => `/home/tc/agents/${alias}/workspace`,
      tiles: '/home/tc/data/tiles/set',
      turn: `/home/tc/data/turns/turn-of-${tier}`,
      ipc: `/home/tc/data/ipc/somewhere/turn-of-${tier}`,
      socket: `/home/tc/data/run/turn-of-${tier}`,
    },
    ceiling: { pids: 4096, memoryBytes: 8_000_000_000, wallMs: 1_800_000 },
    model: { provider: 'rehearsal', name: 'rehearsal-1' },
    credentials: {},
    uid: 10_001,
    image: 'tierclaw-agent:test',
  });

const WRITABLE = ['/home/tc/groups/somewhere', '/home/tc/groups/global', '/home/tc/trusted'];
const grants: Grant[] = [
  { sibling: AgentAlias.parse('reader'), access: 'read' },
  { sibling: AgentAlias.parse('writer'), access: 'readwrite' },
];

const isBeneath = (path: string, directory: string): boolean => path.startsWith(`${directory}/`);

describe.each(TIER_NAMES)('the plan of a turn in tier %s', (tier) => {
  it('is the golden one', async () => {
    await expect(JSON.stringify(planOf(tier, grants), null, 2)).toMatchFileSnapshot(`../golden/plan.${tier}.json`);
  });

  it('makes the golden container', async () => {
    await expect(JSON.stringify(containerSpec(planOf(tier)), null, 2)).toMatchFileSnapshot(
      `../golden/spec.${tier}.json`,
    );
  });

  it('has no mount inside another mount', () => {
    const targets = planOf(tier, grants).mounts.map(({ target }) => target);
    for (const target of targets) expect(targets.filter((other) => isBeneath(target, other))).toEqual([]);
  });

  it('has no source beneath a directory that some container can write', () => {
    const sources = TIER_NAMES.flatMap((any) => planOf(any, grants).mounts);
    const writable = sources.filter(({ mode }) => mode === 'rw').map(({ source }) => source);
    for (const { source } of planOf(tier, grants).mounts) {
      expect(writable.filter((directory) => isBeneath(source, directory))).toEqual([]);
    }
    expect(writable).toEqual(expect.arrayContaining(WRITABLE));
  });

  it('mounts every target once', () => {
    const targets = planOf(tier, grants).mounts.map(({ target }) => target);
    expect(new Set(targets).size).toBe(targets.length);
  });
});

describe('grants', () => {
  it('never lift the tier: where siblings are not mounted at all, a grant mounts nothing', () => {
    expect(planOf(DEFAULT_TIER, grants).mounts.filter(({ target }) => target.startsWith('/workspace/agents/'))).toEqual(
      [],
    );
  });

  it('become ro or rw as they say', () => {
    const modes = planOf(SOLE_TIER, grants).mounts.filter(({ target }) => target.startsWith('/workspace/agents/'));
    expect(modes.map(({ target, mode }) => [target, mode])).toEqual([
      ['/workspace/agents/reader', 'ro'],
      ['/workspace/agents/writer', 'rw'],
    ]);
  });
});

describe('limits', () => {
  const off = { pids: null, memoryBytes: null, wallMs: null };

  it('are the tier’s own where the ceiling is off', () => {
    for (const tier of TIER_NAMES) expect(plannedLimits(tierRow(tier).limits, off)).toEqual(tierRow(tier).limits);
  });

  it('are never raised by the ceiling', () => {
    const { limits } = tierRow(DEFAULT_TIER);
    const high = { pids: 100_000, memoryBytes: 2 ** 40, wallMs: 10 ** 9 };
    expect(plannedLimits(limits, high)).toEqual(limits);
  });

  it('are lowered by a ceiling that is tighter than the tier', () => {
    const tight = { pids: 64, memoryBytes: 1000, wallMs: 5 };
    expect(plannedLimits(tierRow(DEFAULT_TIER).limits, tight)).toMatchObject(tight);
  });
});
