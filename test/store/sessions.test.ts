import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { TranscriptEntry } from '../../src/protocol.ts';
import { TRANSCRIPT_BYTES_MAX } from '../../src/store/sessions.ts';
import { CELLAR, freshStores, LOBBY, openFile } from './fixture.ts';

const SESSION = { group: LOBBY, session: 'default' } as const;
const ALL = { maxBytes: 100_000_000, maxEntries: 100_000 };

const entry = (role: TranscriptEntry['role'], content: TranscriptEntry['content'] = role): TranscriptEntry => ({
  role,
  content,
});

const bytesOf = (entries: readonly TranscriptEntry[]): number =>
  entries.reduce((sum, each) => sum + Buffer.byteLength(JSON.stringify(each)), 0);

describe('a session', () => {
  it('begins with epoch 1 and counts on, for itself alone', () => {
    const { sessions } = freshStores().stores;
    expect(sessions.epoch(LOBBY, 'default')).toBe(1);
    expect(sessions.startEpoch(LOBBY, 'default')).toBe(2);
    expect(sessions.startEpoch(LOBBY, 'default')).toBe(3);
    expect(sessions.epoch(LOBBY, 'default')).toBe(3);
    expect(sessions.epoch(LOBBY, 'maintenance')).toBe(1);
    expect(sessions.epoch(CELLAR, 'default')).toBe(1);
  });

  it('resumes nothing of an earlier epoch', () => {
    const { sessions } = freshStores().stores;
    sessions.appendTranscript({ ...SESSION, entries: [entry('user', 'before')] });
    sessions.startEpoch(LOBBY, 'default');
    expect(sessions.transcript({ ...SESSION, ...ALL })).toEqual([]);
    sessions.appendTranscript({ ...SESSION, entries: [entry('user', 'after')] });
    expect(sessions.transcript({ ...SESSION, ...ALL })).toEqual([entry('user', 'after')]);
  });
});

describe('a transcript', () => {
  it('comes back in order, with its parts untouched, to its own session', () => {
    const { sessions } = freshStores().stores;
    const turn = [
      entry('user', 'hi 🦀'),
      entry('assistant', [{ type: 'tool-call', toolCallId: '1', input: { deep: [null, 1.5, 'x'] } }]),
      entry('tool', [{ type: 'tool-result', toolCallId: '1' }]),
    ];
    sessions.appendTranscript({ ...SESSION, entries: turn });
    sessions.appendTranscript({ ...SESSION, entries: [entry('assistant')] });
    expect(sessions.transcript({ ...SESSION, ...ALL })).toEqual([...turn, entry('assistant')]);
    expect(sessions.transcript({ ...SESSION, session: 'maintenance', ...ALL })).toEqual([]);
    expect(sessions.transcript({ group: CELLAR, session: 'default', ...ALL })).toEqual([]);
  });

  it('is empty where no user entry fits', () => {
    const { sessions } = freshStores().stores;
    sessions.appendTranscript({ ...SESSION, entries: [entry('user'), entry('assistant'), entry('tool')] });
    expect(sessions.transcript({ ...SESSION, maxBytes: 100_000, maxEntries: 2 })).toEqual([]);
  });

  it('gives, within any bounds, the longest newest window that begins with a user entry', () => {
    const { stores } = freshStores();
    const entries = fc.array(
      fc.record({
        role: fc.constantFrom('user', 'assistant', 'tool'),
        content: fc.string({ unit: 'binary', maxLength: 40 }),
      }),
      { maxLength: 30 },
    );
    const property = fc.property(entries, fc.nat(1500), fc.nat(35), (all, maxBytes, maxEntries) => {
      stores.sessions.startEpoch(LOBBY, 'default');
      stores.sessions.appendTranscript({ ...SESSION, entries: all });
      const window = stores.sessions.transcript({ ...SESSION, maxBytes, maxEntries });
      const fits = (from: number): boolean =>
        all[from]?.role === 'user' && all.length - from <= maxEntries && bytesOf(all.slice(from)) <= maxBytes;
      const longest = all.findIndex((_each, from) => fits(from));
      expect(window).toEqual(longest === -1 ? [] : all.slice(longest));
    });
    fc.assert(property, { numRuns: 200 });
  });

  it('is kept within its bound by dropping the oldest', () => {
    const { home, stores } = freshStores();
    const big = 'x'.repeat(1_000_000);
    for (let turn = 0; turn < 6; turn += 1) {
      stores.sessions.appendTranscript({ ...SESSION, entries: [entry('user', `${turn}`), entry('assistant', big)] });
    }
    const kept = openFile(home.stateDatabase).prepare('SELECT sum(bytes), count(*) FROM transcripts').raw().get();
    expect(kept).toEqual([expect.any(Number), expect.any(Number)]);
    const window = stores.sessions.transcript({ ...SESSION, ...ALL });
    expect(bytesOf(window)).toBeLessThanOrEqual(TRANSCRIPT_BYTES_MAX);
    expect(window.filter((each) => each.role === 'user').map((each) => each.content)).toEqual(['2', '3', '4', '5']);
    expect(kept).toEqual([bytesOf(window), 8]);
  });

  it('keeps at most ten thousand entries', () => {
    const { home, stores } = freshStores();
    const turn = Array.from({ length: 6000 }, () => entry('user'));
    stores.sessions.appendTranscript({ ...SESSION, entries: turn });
    stores.sessions.appendTranscript({ ...SESSION, entries: turn });
    const count = openFile(home.stateDatabase).prepare('SELECT count(*) FROM transcripts').pluck().get();
    expect(count).toBe(10_000);
  });
});
