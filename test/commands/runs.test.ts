/** `tierclaw runs`: from the state database alone, for a person and as data. */
import { describe, expect, test } from 'vitest';
import { listRuns } from '../../src/commands/runs.ts';
import { renderRun } from '../../src/commands/runs-table.ts';
import { AgentAlias, GroupId, InvocationId } from '../../src/domain/ids.ts';
import type { InvocationRecord, Timings } from '../../src/domain/invocation.ts';
import { DEFAULT_TIER } from '../../src/domain/tiers.ts';
import type { Home } from '../../src/home.ts';
import { RECEIPTS_MAX } from '../../src/store/receipts.ts';
import { openStores, type Stores } from '../../src/store/stores.ts';
import { run, temporaryHome, testScreen } from './home-fixture.ts';

const id = (number: number): InvocationId => InvocationId.parse(`01HZZZZZZZZZZZZZZZZZZZ000${number}`);

const TIMINGS: Timings = { queuedMs: 100, stagedMs: 300, startedMs: 800, firstModelRequestMs: 900, totalMs: 12_400 };

const record = (number: number, change: Partial<InvocationRecord> = {}): InvocationRecord => ({
  id: id(number),
  group: GroupId.parse('local:lobby'),
  session: 'default',
  tier: DEFAULT_TIER,
  agent: AgentAlias.parse('default'),
  state: 'ended',
  reason: 'completed',
  detail: null,
  timings: TIMINGS,
  createdAt: '2026-05-17T10:00:00.000Z',
  ...change,
});

const homeWith = async (fill: (stores: Stores) => void): Promise<Home> => {
  const home = await temporaryHome();
  await run(home, ['init']);
  const stores = openStores(home, Date.now);
  fill(stores);
  stores.close();
  return home;
};

const threeRuns = (): Promise<Home> =>
  homeWith(({ invocations, receipts }) => {
    invocations.create(record(1));
    invocations.create(record(2, { group: GroupId.parse('local:gone') }));
    invocations.create(record(3, { reason: 'timeout', detail: 'longer than\nallowed \u001b[2J' }));
    receipts.add(id(3), { tool: 'bash', argumentsDigest: 'ab'.repeat(32), outcome: 'error' });
    receipts.recordUse(id(3), { requests: 3, refusals: 1, inputTokens: 12_345, outputTokens: 67 });
  });

describe('the list', () => {
  test('is newest first, a line each', async () => {
    expect((await run(await threeRuns(), ['runs', 'list'])).text).toBe(
      [
        'id                          group        tier       session  started               duration  end',
        `${id(3)}  local:lobby  untrusted  default  2026-05-17 10:00:00Z  12 s      timeout`,
        `${id(2)}  local:gone   untrusted  default  2026-05-17 10:00:00Z  12 s      completed`,
        `${id(1)}  local:lobby  untrusted  default  2026-05-17 10:00:00Z  12 s      completed`,
      ].join('\n'),
    );
  });

  test.each([
    ['a group by its folder', ['--group', 'lobby'], [3, 1]],
    ['a group that isn’t registered any more, by its id', ['--group', 'local:gone'], [2]],
    ['a number', ['--limit', '1'], [3]],
  ])('can be narrowed to %s', async (_, words, numbers) => {
    const { data } = await run(await threeRuns(), ['runs', 'list', ...words]);
    expect(data).toMatchObject(numbers.map((number) => ({ id: id(number) })));
  });

  test('of a group that nobody knows is an error that names those there are', async () => {
    await expect(run(await threeRuns(), ['runs', 'list', '-g', 'loby'])).rejects.toMatchObject({ code: 'not-found' });
  });

  test('a turn’s duration does not hold what its message waited before', async () => {
    const timings = { ...TIMINGS, queuedMs: 60_000, totalMs: 62_000 };
    const home = await homeWith(({ invocations }) => invocations.create(record(1, { timings })));
    expect((await run(home, ['runs', 'list'])).text).toContain('2.0 s');
  });

  test('of a fresh home says so', async () => {
    expect((await run(await homeWith(() => undefined), ['runs', 'list'])).text).toBe('no runs yet');
  });

  test('shows how long one has been running', async () => {
    const createdAt = new Date(Date.now() - 90_000).toISOString();
    const timings = { ...TIMINGS, totalMs: null };
    const home = await homeWith(({ invocations }) =>
      invocations.create(record(1, { state: 'running', reason: null, timings, createdAt })),
    );
    const { text } = await listRuns(testScreen(home).context, { limit: 5 });
    expect(text).toMatch(/1 min 3\d s +running …$/);
  });
});

describe('one run', () => {
  test('is shown with its phases, its end, its model use and its tool calls', async () => {
    const { text } = await run(await threeRuns(), ['runs', 'show', id(3)]);
    const [head = '', phases, calls] = text.split('\n\n');
    expect(head).toContain('end       timeout\ndetail    longer than allowed\n');
    expect(head).toContain('model     3 requests (1 refused), 12 345 tokens in, 67 out, as the gateway counted');
    expect(phases).toBe(
      [
        'Phases, counted from when the message was accepted',
        '  waited in the queue  at 0.1 s',
        '  staged               at 0.3 s  +0.2 s',
        '  container started    at 0.8 s  +0.5 s',
        '  first model request  at 0.9 s  +0.1 s',
        '  ended                at 12 s   +12 s',
      ].join('\n'),
    );
    expect(calls).toMatch(
      /^Tool calls \(1, as the container told them\)\n.*\n {2}1 .* bash {2}error {4}abababababab$/s,
    );
  });

  test('is found in small letters, too, and comes as data', async () => {
    const { data } = await run(await threeRuns(), ['runs', 'show', id(3).toLowerCase(), '--json']);
    expect(data).toMatchObject({
      ...record(3, { reason: 'timeout', detail: 'longer than\nallowed \u001b[2J' }),
      model: { requests: 3, refusals: 1, inputTokens: 12_345, outputTokens: 67 },
      receipts: [{ seq: 1, tool: 'bash', argumentsDigest: 'ab'.repeat(32), outcome: 'error', at: expect.any(String) }],
    });
  });

  test.each(['nonsense', id(9), '../../etc'])(
    'that isn’t there (%s) is an error with a next command',
    async (asked) => {
      await expect(run(await threeRuns(), ['runs', 'show', asked])).rejects.toMatchObject({
        code: 'not-found',
        message: expect.stringContaining(`no run "${asked}"`),
        hint: 'tierclaw runs list',
      });
    },
  );

  test('that failed early shows the phases it reached, and no use that nobody counted', () => {
    const timings = { queuedMs: 5, stagedMs: null, startedMs: null, firstModelRequestMs: null, totalMs: 40 };
    const text = renderRun({ record: record(1, { timings }), model: null, receipts: [] }, 0);
    expect(text).toContain('model     not counted');
    expect(text).toMatch(/waited in the queue {2}at 0.0 s\n {2}ended {16}at 0.0 s {2}\+0.0 s\n\nTool calls: none$/);
  });

  test('with as many tool calls as are kept says that there may have been more', () => {
    const receipt = { seq: 1, tool: 't', argumentsDigest: 'a', outcome: 'ok', at: '2026-05-17T10:00:00.000Z' } as const;
    const receipts = Array.from({ length: RECEIPTS_MAX }, () => receipt);
    expect(renderRun({ record: record(1), model: null, receipts }, 0)).toContain('no more than 500 are kept');
  });
});
