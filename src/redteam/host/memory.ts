/** How much the host holds in buffers at once while something is done: what careless reading of large files costs. */

/** Far below what the attacks offer; what other turns need meanwhile has room. */
export const BYTES_MAX = 40 * 1024 * 1024;
/** Often enough to see a buffer that lives as long as a read of some megabytes. */
const LOOK_EVERY_MS = 2;

export const peakBytes = async <T>(work: () => Promise<T>): Promise<{ readonly result: T; readonly bytes: number }> => {
  const before = process.memoryUsage().arrayBuffers;
  const seen = { peak: before };
  const look = (): void => {
    seen.peak = Math.max(seen.peak, process.memoryUsage().arrayBuffers);
  };
  const timer = setInterval(look, LOOK_EVERY_MS);
  try {
    const result = await work();
    look();
    return { result, bytes: seen.peak - before };
  } finally {
    clearInterval(timer);
  }
};
