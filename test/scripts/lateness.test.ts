/** The bench's measure of lateness sees what holds the event loop, and what it was. */
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { worstLateness } from '../../scripts/bench/lateness.ts';

const hold = (ms: number): void => {
  const end = performance.now() + ms;
  while (performance.now() < end);
};

describe('the worst lateness', () => {
  it('is at least what the loop was held in one piece', async () => {
    const { worstMs } = await worstLateness(async () => {
      await delay(10);
      hold(60);
      await delay(10);
      hold(30);
    });
    expect(worstMs).toBeGreaterThanOrEqual(58);
  });

  it('is never blamed on the machine or the collector beyond what it was', async () => {
    const { worstMs, waitedMs, collectingMs } = await worstLateness(async () => {
      await delay(5);
      hold(40);
    });
    expect(waitedMs).toBeLessThanOrEqual(worstMs);
    expect(collectingMs).toBeLessThanOrEqual(worstMs + 2);
  });
});
