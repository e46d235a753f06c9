/**
 * How late the event loop is at worst while something goes on, and what that stretch was made of: waiting for a core
 * that the machine gave to others, collecting garbage, or work of ours.
 */
import { readFileSync } from 'node:fs';
import { PerformanceObserver } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';

/** The loop is looked at this often; the timer's own period is not lateness. */
const TICK_MS = 1;

export interface Lateness {
  readonly worstMs: number;
  /** Of it: the thread was ready to run, and no core was free. */
  readonly waitedMs: number;
  /** Of it. */
  readonly collectingMs: number;
}

interface Stretch {
  readonly from: number;
  readonly to: number;
  readonly waited: number;
}

/** Milliseconds that this thread has waited for a core; stays 0 where the kernel doesn’t count it. */
const waitedMs = (): number => {
  try {
    return Number(readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ')[1]) / 1e6;
  } catch {
    return 0; // Then all of it counts as ours, which is too strict and never too mild.
  }
};

const lateness = ({ from, to }: Stretch): number => Math.max(0, to - from - TICK_MS);

/** The longest stretch between two looks that `work` and the loop were busy with. */
const watch = async (work: () => Promise<void>): Promise<Stretch> => {
  const seen = { at: performance.now(), waited: waitedMs() };
  let worst: Stretch = { from: seen.at, to: seen.at, waited: 0 };
  const look = (): void => {
    const now = { at: performance.now(), waited: waitedMs() };
    const stretch = { from: seen.at, to: now.at, waited: now.waited - seen.waited };
    if (lateness(stretch) > lateness(worst)) worst = stretch;
    Object.assign(seen, now);
  };
  const timer = setInterval(look, TICK_MS);
  try {
    await work();
    await delay(2 * TICK_MS);
    look();
    return worst;
  } finally {
    clearInterval(timer);
  }
};

/** Milliseconds of the stretch that the pauses fill. */
const overlap = ({ from, to }: Stretch, pauses: readonly { startTime: number; duration: number }[]): number =>
  pauses
    .map(({ startTime, duration }) => Math.min(to, startTime + duration) - Math.max(from, startTime))
    .filter((ms) => ms > 0)
    .reduce((sum, ms) => sum + ms, 0);

export const worstLateness = async (work: () => Promise<void>): Promise<Lateness> => {
  const pauses: { startTime: number; duration: number }[] = [];
  const observer = new PerformanceObserver((list) => pauses.push(...list.getEntries()));
  observer.observe({ entryTypes: ['gc'] });
  const worst = await watch(work);
  // Pauses are reported a turn of the loop later.
  await delay(5);
  observer.disconnect();
  const worstMs = lateness(worst);
  return { worstMs, waitedMs: Math.min(worstMs, worst.waited), collectingMs: overlap(worst, pauses) };
};
