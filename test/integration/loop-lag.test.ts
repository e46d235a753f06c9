/** The yardstick itself: what holds the loop is seen, in computing as in waiting; a busy machine is not blamed on it. */
import { execFileSync, spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { LAG_MS_MAX, measureLag } from './loop-lag.ts';

const compute = (ms: number): void => {
  const end = process.cpuUsage().user / 1000 + ms;
  while (process.cpuUsage().user / 1000 < end) Math.sqrt(ms);
};

describe('the measured lag', () => {
  it.each([
    ['computing', () => compute(150)],
    ['waiting for a file that blocks', () => execFileSync('sleep', ['0.15'])],
  ])('shows %s', async (_, hold) => {
    const { lagMs } = await measureLag(async () => {
      await sleep(20);
      hold();
      await sleep(20);
    });
    expect(lagMs).toBeGreaterThan(LAG_MS_MAX);
  });

  it('stays low while others take the cores', async () => {
    const others = Array.from({ length: availableParallelism() * 4 }, () => spawn('sh', ['-c', 'while :; do :; done']));
    try {
      const { lagMs } = await measureLag(() => sleep(1000));
      expect(lagMs).toBeLessThan(LAG_MS_MAX);
    } finally {
      for (const other of others) other.kill('SIGKILL');
    }
  });
});
