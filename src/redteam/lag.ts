/**
 * How long this process's event loop, which is the supervisor's, was held at a stretch. Time in which the thread was
 * ready and the machine gave its cores to others is the machine's lag, and taken off.
 */
import { readFileSync } from 'node:fs';

/** The bar while anything hostile goes on. */
export const LAG_MS_MAX = 100;
const TICK_MS = 5;
/** Stretches are remembered so long: longer than any probe. */
const KEPT_MS = 120_000;

export interface LagMeter {
  /** The longest stretch since that moment of `performance.now()`, ms. */
  since(startedMs: number): number;
  close(): void;
}

/** Milliseconds that this thread has waited for a core; 0 where the kernel doesn't count it, which is too strict. */
const waitedMs = (): number => {
  try {
    return Number(readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ')[1]) / 1e6;
  } catch {
    return 0;
  }
};

/** Shorter ones are of no interest. */
const NOTED_MS = 20;

export const startLagMeter = (): LagMeter => {
  const stretches: { readonly atMs: number; readonly lagMs: number }[] = [];
  const seen = { at: performance.now(), waited: waitedMs() };
  const look = (): void => {
    const now = { at: performance.now(), waited: waitedMs() };
    const lagMs = now.at - seen.at - (now.waited - seen.waited) - TICK_MS;
    Object.assign(seen, now);
    if (lagMs < NOTED_MS) return;
    stretches.push({ atMs: now.at, lagMs });
    while ((stretches[0]?.atMs ?? now.at) < now.at - KEPT_MS) stretches.shift();
  };
  const timer = setInterval(look, TICK_MS);
  return {
    since: (startedMs) => {
      look();
      return Math.max(0, ...stretches.filter(({ atMs }) => atMs >= startedMs).map(({ lagMs }) => lagMs));
    },
    close: () => clearInterval(timer),
  };
};
