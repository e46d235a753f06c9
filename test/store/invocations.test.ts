import { describe, expect, it } from 'vitest';
import type { InvocationRecord } from '../../src/domain/invocation.ts';
import { DEFAULT_TIER } from '../../src/domain/tiers.ts';
import { CELLAR, freshStores, invocationId, LOBBY } from './fixture.ts';

const NONE = { queuedMs: null, stagedMs: null, startedMs: null, firstModelRequestMs: null, totalMs: null };

const record = (number: number, change: Partial<InvocationRecord> = {}): InvocationRecord => ({
  id: invocationId(number),
  group: LOBBY,
  session: 'default',
  tier: DEFAULT_TIER,
  agent: 'default',
  state: 'staging',
  reason: null,
  detail: null,
  timings: NONE,
  createdAt: '2026-01-02T03:04:05.000Z',
  ...change,
});

describe('invocation records', () => {
  it('come back as they were written', () => {
    const { invocations } = freshStores().stores;
    invocations.create(record(1, { timings: { ...NONE, queuedMs: 1.5 } }));
    expect(invocations.get(invocationId(1))).toEqual(record(1, { timings: { ...NONE, queuedMs: 1.5 } }));
    expect(invocations.get(invocationId(2))).toBeNull();
  });

  it('gather state and timings; a point once reached stays', () => {
    const { invocations } = freshStores().stores;
    invocations.create(record(1));
    invocations.update(invocationId(1), { state: 'starting' });
    invocations.update(invocationId(1), { timings: { stagedMs: 7 } });
    invocations.update(invocationId(1), { timings: { ...NONE, startedMs: 9 } });
    expect(invocations.get(invocationId(1))).toEqual(
      record(1, { state: 'starting', timings: { ...NONE, stagedMs: 7, startedMs: 9 } }),
    );
  });

  it('end once; later news changes nothing', () => {
    const { invocations } = freshStores().stores;
    const id = invocationId(1);
    invocations.create(record(1));
    invocations.end(id, { reason: 'timeout', detail: '300 s', timings: { totalMs: 300_000 } });
    invocations.end(id, { reason: 'completed', detail: null, timings: { totalMs: 1 } });
    invocations.update(id, { state: 'running' });
    expect(invocations.get(id)).toEqual(
      record(1, { state: 'ended', reason: 'timeout', detail: '300 s', timings: { ...NONE, totalMs: 300_000 } }),
    );
  });

  it('that do not exist can neither change nor end', () => {
    const { invocations } = freshStores().stores;
    const missing = expect.objectContaining({ code: 'not-found' });
    expect(() => invocations.update(invocationId(1), { state: 'running' })).toThrow(missing);
    expect(() => invocations.end(invocationId(1), { reason: 'failed', detail: null, timings: {} })).toThrow(missing);
  });

  it('are listed newest first, of one group or all, and unfinished ones oldest first', () => {
    const { invocations } = freshStores().stores;
    invocations.create(record(1));
    invocations.create(record(2, { group: CELLAR }));
    invocations.create(record(3));
    invocations.end(invocationId(1), { reason: 'completed', detail: null, timings: {} });
    const ids = (records: readonly InvocationRecord[]) => records.map((each) => Number(each.id.slice(-4)));
    expect(ids(invocations.list({ limit: 2 }))).toEqual([3, 2]);
    expect(ids(invocations.list({ limit: 9, group: LOBBY }))).toEqual([3, 1]);
    expect(ids(invocations.unfinished())).toEqual([2, 3]);
  });
});
