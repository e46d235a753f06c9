/** The plan of every tier as it is printed, line by line: a change of rights, or of their wording, is a visible diff. */
import { expect, test } from 'vitest';
import { renderPlan } from '../../src/commands/plan-table.ts';
import { AgentAlias, GroupFolder, GroupId, InvocationId } from '../../src/domain/ids.ts';
import { type PlanInput, planInvocation } from '../../src/domain/spec.ts';
import { TIER_NAMES, type TierName, tierRow } from '../../src/domain/tiers.ts';

const input = (tier: TierName): PlanInput => ({
  invocation: InvocationId.parse('00000000000000000000000000'),
  home: '/srv/home',
  group: {
    id: GroupId.parse('local:team'),
    name: 'The \u001b[31mteam',
    folder: GroupFolder.parse('team'),
    tier,
    agent: AgentAlias.parse('default'),
    registeredAt: '2026-01-01T00:00:00.000Z',
  },
  row: tierRow(tier),
  grants: [{ sibling: AgentAlias.parse('librarian'), access: 'read' }],
  roots: {
    group: '/srv/home/groups/team',
    global: '/srv/home/groups/global',
    trusted: '/srv/home/trusted',
    agent: '/srv/home/agents/default/workspace',
    siblingWorkspace: (alias) => `/srv/home/agents/${alias}/workspace`,
    tiles: '/srv/home/data/tiles/set',
    turn: '/srv/home/data/turns/0',
    ipc: '/srv/home/data/ipc/team/0',
    socket: '/srv/home/data/run/0',
  },
  ceiling: { pids: 4096, memoryBytes: 12 * 1024 ** 3, wallMs: 1_800_000 },
  model: { provider: 'rehearsal', name: 'rehearsal-1' },
  credentials: {},
  uid: 10_001,
  image: 'tierclaw-agent:0123456789abcdef',
});

test.each(TIER_NAMES)('the plan of a group of tier %s', async (tier) => {
  await expect(`${renderPlan(planInvocation(input(tier)))}\n`).toMatchFileSnapshot(`golden/plan-${tier}.txt`);
});

test('a ceiling that is switched off leaves a limit unlimited', () => {
  const [tier] = TIER_NAMES;
  const text = renderPlan(planInvocation({ ...input(tier), ceiling: { pids: null, memoryBytes: null, wallMs: null } }));
  expect(text).toMatch(/^ {2}memory +unlimited$/m);
  expect(text).toMatch(/^ {2}turn +unlimited$/m);
});
