/** What is kept of a turn's tool calls and of its use of the model. */
import { describe, expect, it } from 'vitest';
import { RECEIPTS_MAX, type Receipt } from '../../src/store/receipts.ts';
import { freshStores, invocationId } from './fixture.ts';

const receipt = (change: Partial<Receipt> = {}): Receipt => ({
  tool: 'bash',
  argumentsDigest: 'a'.repeat(64),
  outcome: 'ok',
  ...change,
});

describe('receipts', () => {
  it('are kept in the order in which they came, each turn’s for itself', () => {
    const { stores, clock } = freshStores();
    expect(stores.receipts.add(invocationId(1), receipt())).toBe(true);
    stores.receipts.add(invocationId(2), receipt({ tool: 'grep' }));
    clock.ms += 1_000;
    stores.receipts.add(invocationId(1), receipt({ tool: 'glob', outcome: 'error' }));
    expect(stores.receipts.of(invocationId(1))).toEqual([
      { seq: 1, tool: 'bash', argumentsDigest: 'a'.repeat(64), outcome: 'ok', at: '2026-01-02T03:04:05.000Z' },
      { seq: 2, tool: 'glob', argumentsDigest: 'a'.repeat(64), outcome: 'error', at: '2026-01-02T03:04:06.000Z' },
    ]);
    expect(stores.receipts.of(invocationId(3))).toEqual([]);
  });

  it('end at the bound, and say so', () => {
    const { stores } = freshStores();
    const kept = Array.from({ length: RECEIPTS_MAX + 2 }, () => stores.receipts.add(invocationId(1), receipt()));
    expect(kept.filter((one) => one)).toHaveLength(RECEIPTS_MAX);
    expect(kept.slice(-2)).toEqual([false, false]);
    expect(stores.receipts.of(invocationId(1))).toHaveLength(RECEIPTS_MAX);
    expect(stores.receipts.add(invocationId(2), receipt())).toBe(true);
  });
});

describe('the use of the model', () => {
  it('is what was recorded last, or nothing', () => {
    const { stores } = freshStores();
    expect(stores.receipts.useOf(invocationId(1))).toBeNull();
    stores.receipts.recordUse(invocationId(1), { requests: 1, refusals: 0, inputTokens: 10, outputTokens: 1 });
    const use = { requests: 2, refusals: 1, inputTokens: 20, outputTokens: 3 };
    stores.receipts.recordUse(invocationId(1), use);
    expect(stores.receipts.useOf(invocationId(1))).toEqual(use);
  });
});
