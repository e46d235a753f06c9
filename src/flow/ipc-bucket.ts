/** A token bucket: at most `perSecond` in the long run, `burst` at once. Holds one number and one time, no timer. */

export interface Bucket {
  /** Takes one if there is one. */
  take(): boolean;
}

/** `clock` gives milliseconds that never run backwards. It starts full. */
export const createBucket = (perSecond: number, burst: number, clock: () => number): Bucket => {
  let tokens = burst;
  let at = clock();
  return {
    take: () => {
      const now = clock();
      tokens = Math.min(burst, tokens + ((now - at) / 1000) * perSecond);
      at = now;
      if (tokens < 1) return false;
      tokens -= 1;
      return true;
    },
  };
};
