/**
 * How long the event loop of this process, which is the supervisor's too in these tests, was held at a stretch. Time in
 * which the thread was ready and the machine gave its cores to others is the machine's lag, and taken off.
 */
import { readFileSync } from 'node:fs';

/** The product's bar while anything hostile goes on. */
export const LAG_MS_MAX = 100;

/** The loop is looked at this often. */
const TICK_MS = 5;

export interface Lagged<T> {
  readonly result: T;
  /** The longest stretch, ms. */
  readonly lagMs: number;
}

/** Milliseconds that this thread has waited for a core; stays 0 where the kernel doesn't count it. */
const waitedMs = (): number => {
  try {
    return Number(readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ')[1]) / 1e6;
  } catch {
    return 0; // Only then the figure includes the machine's lag, which makes it too strict, never too mild.
  }
};

export const measureLag = async <T>(act: () => Promise<T>): Promise<Lagged<T>> => {
  const seen = { at: performance.now(), waited: waitedMs(), longest: 0 };
  const look = (): void => {
    const now = { at: performance.now(), waited: waitedMs() };
    const stretch = now.at - seen.at - (now.waited - seen.waited) - TICK_MS;
    Object.assign(seen, now, { longest: Math.max(seen.longest, stretch) });
  };
  const timer = setInterval(look, TICK_MS);
  try {
    const result = await act();
    look();
    return { result, lagMs: seen.longest };
  } finally {
    clearInterval(timer);
  }
};
