/**
 * Time as budgets see it: it never goes back, and it goes on at the pace of the monotonic clock while the wall clock
 * is behind. So a clock that is set back gives no minute or day a second time, and none lasts longer either.
 */

export interface Clocks {
  /** Milliseconds since 1970; may jump. */
  readonly wallMs: () => number;
  /** Milliseconds from any beginning; never goes back. */
  readonly monotonicMs: () => number;
}

/** Reads whole milliseconds since 1970, never below `fromMs` and never below what was read before. */
export const steadyClock = ({ wallMs, monotonicMs }: Clocks, fromMs: number): (() => number) => {
  const last = { atMs: fromMs, monotonicMs: monotonicMs() };
  return () => {
    const now = monotonicMs();
    last.atMs = Math.max(wallMs(), last.atMs + Math.max(0, now - last.monotonicMs));
    last.monotonicMs = now;
    return Math.floor(last.atMs);
  };
};
