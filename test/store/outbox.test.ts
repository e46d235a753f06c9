import { describe, expect, it } from 'vitest';
import { freshStores, invocationId, LOBBY } from './fixture.ts';

const MISSING = expect.objectContaining({ code: 'not-found' });

describe('the outbox', () => {
  it('keeps what is to be sent, in order, until it is sent', () => {
    const { stores } = freshStores();
    const ids = ['one', 'two', 'three'].map((text) => stores.outbox.add({ invocation: null, chat: LOBBY, text }));
    expect(stores.outbox.pending().map((row) => row.text)).toEqual(['one', 'two', 'three']);
    stores.outbox.markSent(ids[1] ?? '');
    expect(stores.outbox.pending().map((row) => row.text)).toEqual(['one', 'three']);
    expect(() => stores.outbox.markSent(ids[1] ?? '')).toThrow(MISSING);
  });

  it('shows a row whole', () => {
    const { stores } = freshStores();
    const id = stores.outbox.add({ invocation: invocationId(1), chat: LOBBY, text: 'hi' });
    expect(stores.outbox.pending()).toEqual([
      {
        id,
        invocation: invocationId(1),
        chat: LOBBY,
        text: 'hi',
        file: null,
        status: 'pending',
        attempts: 0,
        createdAt: '2026-01-02T03:04:05.000Z',
        nextAt: '2026-01-02T03:04:05.000Z',
        sentAt: null,
        error: null,
      },
    ]);
  });

  it('keeps the file that goes with a text', () => {
    const { stores } = freshStores();
    const file = { name: 'a.pdf', bytes: 3, path: '/somewhere/a.pdf' };
    stores.outbox.add({ invocation: null, chat: LOBBY, text: '', file });
    expect(stores.outbox.pending()).toMatchObject([{ text: '', file }]);
  });

  it('retries five times with growing delays, then keeps a dead letter', () => {
    const { clock, stores } = freshStores();
    const id = stores.outbox.add({ invocation: null, chat: LOBBY, text: 'hi' });
    const delays: number[] = [];
    for (let attempt = 1; attempt <= 5; attempt += 1) {
      expect(stores.outbox.markFailed(id, `try ${attempt}`)).toBe('pending');
      const [row] = stores.outbox.pending();
      delays.push(Date.parse(row?.nextAt ?? '') - clock.ms);
      expect(row).toMatchObject({ attempts: attempt, error: `try ${attempt}` });
    }
    expect(delays).toEqual([5000, 10_000, 20_000, 40_000, 80_000]);
    expect(stores.outbox.markFailed(id, 'gone')).toBe('dead');
    expect(stores.outbox.pending()).toEqual([]);
    expect(stores.outbox.dead()).toMatchObject([{ id, text: 'hi', error: 'gone', attempts: 6 }]);
  });

  it('sends a dead letter again when told to, and only that', () => {
    const { stores } = freshStores();
    const id = stores.outbox.add({ invocation: null, chat: LOBBY, text: 'hi' });
    expect(() => stores.outbox.replay(id)).toThrow(MISSING);
    for (let attempt = 0; attempt < 6; attempt += 1) stores.outbox.markFailed(id, 'no');
    stores.outbox.replay(id);
    expect(stores.outbox.dead()).toEqual([]);
    expect(stores.outbox.pending()).toMatchObject([{ id, attempts: 0 }]);
  });
});
