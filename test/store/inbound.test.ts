import { describe, expect, it } from 'vitest';
import { openStores } from '../../src/store/stores.ts';
import { CELLAR, freshStores, invocationId, LOBBY, message, type OpenHome, openFile } from './fixture.ts';

const SESSION = { group: LOBBY, session: 'default' } as const;
const FIRST = invocationId(1);
const SECOND = invocationId(2);

const accept = ({ stores }: OpenHome, ...ids: string[]): string[] =>
  ids.map((id) => stores.inbound.accept({ message: message(id), ...SESSION }));

const take = ({ stores }: OpenHome, invocation = FIRST, max = 10): string[] =>
  stores.inbound.take({ ...SESSION, invocation, max }).map((taken) => taken.message.id);

describe('the inbound queue', () => {
  it('takes a message in once, whatever becomes of it', () => {
    const open = freshStores();
    expect(accept(open, 'a', 'a')).toEqual(['new', 'duplicate']);
    take(open);
    expect(accept(open, 'a')).toEqual(['duplicate']);
    open.stores.inbound.finish(FIRST, 'done');
    expect(accept(open, 'a')).toEqual(['duplicate']);
    expect(take(open)).toEqual([]);
  });

  it('tells chats with the same message id apart', () => {
    const open = freshStores();
    accept(open, '1');
    const other = { message: message('1', { chat: CELLAR }), group: CELLAR, session: 'default' } as const;
    expect(open.stores.inbound.accept(other)).toBe('new');
  });

  it('hands out the message as it came, with the time of its acceptance', () => {
    const open = freshStores();
    const odd = message('a', { text: '\u0000 \ud83e\udd80 "quoted"', threadId: 't', replyToId: 'r' });
    open.stores.inbound.accept({ message: odd, ...SESSION });
    const acceptedAt = open.clock.ms;
    open.clock.ms += 500;
    expect(open.stores.inbound.take({ ...SESSION, invocation: FIRST, max: 1 })).toEqual([
      { message: odd, receivedAt: acceptedAt },
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
      stores.inbound.accept({ message: message(id, { text: 'x'.repeat(10) }), ...SESSION });
    }
    const limit = maxChars === undefined ? {} : { maxChars };
    const got = stores.inbound.take({ ...SESSION, invocation: FIRST, max: 10, ...limit });
    expect(got.map((each) => each.message.id)).toEqual(taken);
  });

  it('says who waits, longest first', () => {
    const open = freshStores();
    const { clock, stores } = open;
    const start = clock.ms;
    stores.inbound.accept({ message: message('z', { chat: CELLAR }), group: CELLAR, session: 'maintenance' });
    clock.ms += 1000;
    accept(open, 'a', 'b');
    expect(stores.inbound.waiting()).toEqual([
      { group: CELLAR, session: 'maintenance', messages: 1, oldestAt: start },
      { group: LOBBY, session: 'default', messages: 2, oldestAt: start + 1000 },
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
    expect(open.stores.inbound.requeue(FIRST)).toBe(1);
    expect(open.stores.inbound.requeue(FIRST)).toBe(0);
    expect(take(open, SECOND)).toEqual(['a', 'b', 'c']);
  });

  it('settles and puts back only what runs under that invocation', () => {
    const open = freshStores();
    const { inbound } = open.stores;
    accept(open, 'a', 'b');
    take(open, FIRST, 1);
    take(open, SECOND, 1);
    inbound.finish(FIRST, 'failed');
    expect(inbound.requeue(FIRST)).toBe(0);
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
    open.stores.inbound.finish(FIRST, 'done');
    accept(open, 'waiting');
    open.clock.ms += 8 * 24 * 3600 * 1000;
    accept(open, 'new');
    open.stores.inbound.take({ ...SESSION, invocation: SECOND, max: 1 });
    open.stores.inbound.finish(SECOND, 'failed');
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
