/** What chats can throw at the queue: floods, doubles, monsters, chats that are gone. Real stores, turns of the test's own. */
import { setImmediate as tick } from 'node:timers/promises';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { GroupFolder, GroupId, InvocationId } from '../../src/domain/ids.ts';
import type { InboundMessage } from '../../src/domain/message.ts';
import { createQueue, type Turn } from '../../src/flow/queue.ts';
import { createReceiver } from '../../src/flow/receive.ts';
import type { Replier } from '../../src/flow/reply.ts';
import { CELLAR, freshStores, group, LOBBY, message } from '../store/fixture.ts';

const BACKLOG = 1000;

const setUp = (concurrent = 1) => {
  const { stores, clock } = freshStores();
  stores.groups.register(group());
  stores.groups.register(group({ id: CELLAR, name: 'Cellar', folder: GroupFolder.parse('cellar') }));
  const notices: string[] = [];
  const answered: { turn: Turn; ids: string[] }[] = [];
  const replier = { deliver: async ({ chat }: { chat: string }) => notices.push(chat) > 0 } as unknown as Replier;
  let next = 0;
  const queue = createQueue({
    concurrent,
    waiting: () => stores.inbound.waiting(),
    newInvocation: () => InvocationId.parse(String(next++).padStart(26, '0')),
    run: async (turn) => {
      const taken = stores.inbound.take({ ...turn, max: 50, maxChars: 1_500_000 });
      answered.push({ turn, ids: taken.map((one) => one.message.id) });
      await tick();
      stores.inbound.settle({ invocation: turn.invocation, untouched: [], outcome: { kind: 'done' } });
    },
    follow: () => {},
    clock: clock.read,
    onBug: async () => {},
  });
  const receive = createReceiver({
    stores,
    replier,
    backlog: BACKLOG,
    wake: () => {},
    logger: pino({ level: 'silent' }),
  });
  const drain = async (): Promise<void> => {
    queue.wake();
    while (queue.running().length > 0) await tick();
  };
  return { stores, queue, receive, drain, answered, notices, clock };
};

const many = (count: number, of: (at: number) => InboundMessage): InboundMessage[] =>
  Array.from({ length: count }, (_, at) => of(at));

describe('the queue meets', () => {
  it('200 messages at once: answered in batches, in order, each once', async () => {
    const { receive, drain, answered } = setUp();
    for (const one of many(200, (at) => message(`m${at}`))) expect(await receive(one)).toBe('queued');
    await drain();
    expect(answered.map(({ ids }) => ids.length)).toEqual([50, 50, 50, 50]);
    expect(answered.flatMap(({ ids }) => ids)).toEqual(many(200, (at) => message(`m${at}`)).map(({ id }) => id));
  });

  it('two messages with one timestamp: both answered, in the order in which they came', async () => {
    const { receive, drain, answered } = setUp();
    for (const id of ['second', 'first']) await receive(message(id, { at: '2026-01-01T00:00:00.000Z' }));
    await drain();
    expect(answered.flatMap(({ ids }) => ids)).toEqual(['second', 'first']);
  });

  it('one message twice, as networks do: taken in once', async () => {
    const { receive, drain, answered, stores } = setUp();
    expect([await receive(message('a')), await receive(message('a'))]).toEqual(['queued', 'duplicate']);
    await drain();
    expect(await receive(message('a'))).toBe('duplicate');
    expect(answered.flatMap(({ ids }) => ids)).toEqual(['a']);
    expect(stores.messages.count(LOBBY)).toBe(1);
  });

  it('messages of 1 MB: no turn gets more than it can carry, none is lost', async () => {
    const { receive, drain, answered } = setUp();
    for (const id of ['a', 'b', 'c']) await receive(message(id, { text: 'x'.repeat(1_000_000) }));
    await drain();
    expect(answered.map(({ ids }) => ids)).toEqual([['a'], ['b'], ['c']]);
  });

  it('10,000 messages of one group and one of another: the one is next, the rest bounded, told once, kept', async () => {
    const { receive, queue, drain, answered, notices, stores } = setUp();
    for (const one of many(10_000, (at) => message(`m${at}`))) await receive(one);
    await receive(message('lonely', { chat: CELLAR }));
    expect(notices).toEqual([LOBBY]);
    expect(stores.inbound.waiting().map(({ messages }) => messages)).toEqual([BACKLOG, 1]);
    expect(stores.deadMessages.list()).toHaveLength(9_000);
    expect(stores.messages.count(LOBBY)).toBe(10_000);
    queue.wake();
    await drain();
    expect(answered[1]).toMatchObject({ ids: ['lonely'] });
  });

  it('a chat that nobody registered: nothing is stored, nothing is answered', async () => {
    const { receive, drain, answered, stores } = setUp();
    const stranger = message('a', { chat: GroupId.parse('local:nowhere') });
    expect(await receive(stranger)).toBe('unregistered');
    await drain();
    expect(answered).toEqual([]);
    expect(stores.inbound.waiting()).toEqual([]);
  });

  it('a clock that is set back an hour: what waits is still answered', async () => {
    const { receive, drain, answered, stores, clock } = setUp();
    await receive(message('a'));
    const [turn] = [InvocationId.parse('1'.padStart(26, '0'))];
    stores.inbound.take({ group: LOBBY, session: 'default', invocation: turn, max: 1 });
    const outcome = { kind: 'retry', rule: { attempts: 5, firstMs: 5000 }, error: 'x' } as const;
    stores.inbound.settle({ invocation: turn, untouched: [], outcome });
    clock.ms -= 3_600_000;
    await drain();
    expect(answered.flatMap(({ ids }) => ids)).toEqual(['a']);
  });
});
