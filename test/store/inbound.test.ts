import { describe, expect, it } from 'vitest';
import type { InvocationId } from '../../src/domain/ids.ts';
import type { Settlement } from '../../src/store/inbound.ts';
import { openStores } from '../../src/store/stores.ts';
import { CELLAR, freshStores, invocationId, LOBBY, message, type OpenHome, openFile } from './fixture.ts';

const SESSION = { group: LOBBY, session: 'default' } as const;
const BACKLOG = 100;
const FIRST = invocationId(1);
const SECOND = invocationId(2);

const accept = ({ stores }: OpenHome, ...ids: string[]): string[] =>
  ids.map((id) => stores.inbound.accept({ message: message(id), backlog: BACKLOG, ...SESSION }));

const take = ({ stores }: OpenHome, invocation = FIRST, max = 10): string[] =>
  stores.inbound.take({ ...SESSION, invocation, max }).map((taken) => taken.message.id);

const settle = (
  { stores }: OpenHome,
  invocation: InvocationId,
  outcome: Settlement['outcome'],
  untouched: readonly string[] = [],
): number => stores.inbound.settle({ invocation, untouched, outcome });

const RULE = { attempts: 2, firstMs: 1000 };
const RETRY = { kind: 'retry', rule: RULE, error: 'the engine is down' } as const;

describe('a message whose turn failed for a reason that may pass', () => {
  it('waits 1, 2, 4 … times the first wait, then becomes a dead letter', () => {
    const open = freshStores();
    accept(open, 'a');
    for (const waitMs of [1000, 2000]) {
      take(open);
      expect(settle(open, FIRST, RETRY)).toBe(0);
      expect(open.stores.inbound.waiting()).toMatchObject([{ notBefore: open.clock.ms + waitMs }]);
    }
    take(open);
    expect(settle(open, FIRST, RETRY)).toBe(1);
    expect(open.stores.inbound.waiting()).toEqual([]);
    expect(open.stores.deadMessages.list()).toMatchObject([
      { group: LOBBY, attempts: 3, error: 'the engine is down', message: { id: 'a' } },
    ]);
  });

  it('keeps its count over a restart', () => {
    const { home, clock, stores } = freshStores();
    accept({ home, clock, stores }, 'a');
    take({ home, clock, stores });
    settle({ home, clock, stores }, FIRST, RETRY);
    stores.close();
    const again = openStores(home, clock.read);
    const [taken] = again.inbound.take({ ...SESSION, invocation: SECOND, max: 1 });
    expect(taken?.attempts).toBe(1);
    again.close();
  });

  it('holds back what came after it, so that the order stays', () => {
    const open = freshStores();
    accept(open, 'a');
    take(open);
    settle(open, FIRST, RETRY);
    accept(open, 'b');
    expect(open.stores.inbound.waiting()).toMatchObject([{ messages: 2, notBefore: open.clock.ms + 1000 }]);
    expect(take(open, SECOND)).toEqual(['a', 'b']);
  });
});

describe('a dead letter', () => {
  const dead = () => {
    const open = freshStores();
    accept(open, 'a', 'b');
    take(open);
    expect(settle(open, FIRST, { kind: 'dead', error: 'no key' })).toBe(2);
    return open;
  };

  it('is answered after all when it is replayed, with all its attempts, once', () => {
    const open = dead();
    const [first] = open.stores.deadMessages.list();
    expect(open.stores.deadMessages.replay(first?.seq ?? 0)).toBe(true);
    expect(open.stores.deadMessages.replay(first?.seq ?? 0)).toBe(false);
    expect(open.stores.inbound.waiting()).toMatchObject([{ messages: 1, notBefore: 0 }]);
    expect(take(open, SECOND)).toEqual(['a']);
  });

  it('is gone when it is dropped, and its message is still known', () => {
    const open = dead();
    const [first] = open.stores.deadMessages.list();
    expect(open.stores.deadMessages.drop(first?.seq ?? 0)).toBe(true);
    expect(open.stores.deadMessages.list().map(({ message: { id } }) => id)).toEqual(['b']);
    expect(accept(open, 'a')).toEqual(['duplicate']);
  });
});

describe('follow-ups that a turn did not take in', () => {
  it.each([{ kind: 'done' }, { kind: 'failed' }, RETRY, { kind: 'dead', error: 'x' }] as const)(
    'go back untouched where the turn is settled as $kind',
    (outcome) => {
      const open = freshStores();
      accept(open, 'a', 'late');
      take(open);
      settle(open, FIRST, outcome, ['late']);
      const back = open.stores.inbound.take({ ...SESSION, invocation: SECOND, max: 9 });
      expect(back.at(-1)).toMatchObject({ message: { id: 'late' }, attempts: 0 });
    },
  );
});

describe('the backlog', () => {
  it('turns what is too much into dead letters, and takes messages again once there is room', () => {
    const { stores } = freshStores();
    const one = (id: string) => stores.inbound.accept({ message: message(id), ...SESSION, backlog: 2 });
    expect(['a', 'b', 'c', 'c'].map(one)).toEqual(['new', 'new', 'overflow', 'duplicate']);
    expect(stores.deadMessages.list().map(({ message: { id } }) => id)).toEqual(['c']);
    stores.inbound.take({ ...SESSION, invocation: FIRST, max: 1 });
    expect(one('d')).toBe('new');
  });
});

describe('the inbound queue', () => {
  it('takes a message in once, whatever becomes of it', () => {
    const open = freshStores();
    expect(accept(open, 'a', 'a')).toEqual(['new', 'duplicate']);
    take(open);
    expect(accept(open, 'a')).toEqual(['duplicate']);
    settle(open, FIRST, { kind: 'done' });
    expect(accept(open, 'a')).toEqual(['duplicate']);
    expect(take(open)).toEqual([]);
  });

  it('tells chats with the same message id apart', () => {
    const open = freshStores();
    accept(open, '1');
    const other = {
      message: message('1', { chat: CELLAR }),
      group: CELLAR,
      session: 'default',
      backlog: BACKLOG,
    } as const;
    expect(open.stores.inbound.accept(other)).toBe('new');
  });

  it('hands out the message as it came, with the time of its acceptance', () => {
    const open = freshStores();
    const odd = message('a', { text: '\u0000 \ud83e\udd80 "quoted"', threadId: 't', replyToId: 'r' });
    open.stores.inbound.accept({ message: odd, backlog: BACKLOG, ...SESSION });
    const acceptedAt = open.clock.ms;
    open.clock.ms += 500;
    expect(open.stores.inbound.take({ ...SESSION, invocation: FIRST, max: 1 })).toEqual([
      { message: odd, receivedAt: acceptedAt, attempts: 0 },
    ]);
  });

  it('hands out the oldest first, to one invocation each', () => {
    const open = freshStores();
    accept(open, 'c', 'a', 'b');
    expect(take(open, FIRST, 2)).toEqual(['c', 'a']);
    expect(take(open, SECOND)).toEqual(['b']);
    expect(take(open, SECOND)).toEqual([]);
  });

  it.each([
    { maxChars: 15, taken: ['a'] },
    { maxChars: 20, taken: ['a', 'b'] },
    { maxChars: 1, taken: ['a'] },
    { maxChars: undefined, taken: ['a', 'b', 'c'] },
  ])('takes $taken where the text may be $maxChars long', ({ maxChars, taken }) => {
    const { stores } = freshStores();
    for (const id of ['a', 'b', 'c']) {
      stores.inbound.accept({ message: message(id, { text: 'x'.repeat(10) }), backlog: BACKLOG, ...SESSION });
    }
    const limit = maxChars === undefined ? {} : { maxChars };
    const got = stores.inbound.take({ ...SESSION, invocation: FIRST, max: 10, ...limit });
    expect(got.map((each) => each.message.id)).toEqual(taken);
  });

  it('says who waits, longest first', () => {
    const open = freshStores();
    const { clock, stores } = open;
    const start = clock.ms;
    stores.inbound.accept({
      message: message('z', { chat: CELLAR }),
      group: CELLAR,
      session: 'maintenance',
      backlog: BACKLOG,
    });
    clock.ms += 1000;
    accept(open, 'a', 'b');
    expect(stores.inbound.waiting()).toEqual([
      { group: CELLAR, session: 'maintenance', messages: 1, oldestAt: start, notBefore: 0 },
      { group: LOBBY, session: 'default', messages: 2, oldestAt: start + 1000, notBefore: 0 },
    ]);
    take(open);
    expect(stores.inbound.waiting().map((row) => row.group)).toEqual([CELLAR]);
  });

  it('keeps sessions apart', () => {
    const open = freshStores();
    accept(open, 'a');
    expect(open.stores.inbound.take({ ...SESSION, session: 'maintenance', invocation: FIRST, max: 9 })).toEqual([]);
  });

  it('puts messages back at their old places', () => {
    const open = freshStores();
    accept(open, 'a', 'b');
    take(open, FIRST, 1);
    accept(open, 'c');
    settle(open, FIRST, { kind: 'requeue' });
    expect(take(open, SECOND)).toEqual(['a', 'b', 'c']);
  });

  it('settles and puts back only what runs under that invocation', () => {
    const open = freshStores();
    const { inbound } = open.stores;
    accept(open, 'a', 'b');
    take(open, FIRST, 1);
    take(open, SECOND, 1);
    settle(open, FIRST, { kind: 'failed' });
    expect(inbound.requeueAllRunning()).toBe(1);
    expect(take(open, FIRST)).toEqual(['b']);
  });

  it('survives a restart, and what was running waits again', () => {
    const { home, clock, stores } = freshStores();
    accept({ home, clock, stores }, 'a', 'b');
    take({ home, clock, stores }, FIRST, 1);
    stores.close();
    const again = openStores(home, clock.read);
    expect(again.inbound.requeueAllRunning()).toBe(1);
    expect(take({ home, clock, stores: again }, SECOND)).toEqual(['a', 'b']);
    again.close();
  });

  it('forgets the text of settled messages after a week, never their ids', () => {
    const open = freshStores();
    accept(open, 'old');
    take(open);
    settle(open, FIRST, { kind: 'done' });
    accept(open, 'waiting');
    open.clock.ms += 8 * 24 * 3600 * 1000;
    accept(open, 'new');
    open.stores.inbound.take({ ...SESSION, invocation: SECOND, max: 1 });
    settle(open, SECOND, { kind: 'failed' });
    const rows = openFile(open.home.stateDatabase).prepare('SELECT message_id, payload IS NULL FROM inbound').raw();
    expect(rows.all()).toEqual([
      ['old', 1],
      ['waiting', 1],
      ['new', 0],
    ]);
    expect(accept(open, 'old')).toEqual(['duplicate']);
    expect(take(open, SECOND)).toEqual(['new']);
  });
});

describe('recovery of messages', () => {
  it('writes what was accepted and not yet stored, in order and once', () => {
    const open = freshStores();
    const { stores } = open;
    accept(open, 'a', 'b', 'c');
    stores.messages.saveInbound(message('a'));
    take(open, FIRST, 2);
    expect(stores.recoverMessages()).toBe(2);
    expect(stores.messages.recent(LOBBY, 10).map((row) => row.id)).toEqual(['a', 'b', 'c']);
    expect(stores.recoverMessages()).toBe(0);
  });
});
