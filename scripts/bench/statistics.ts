/** Medians of what was measured, and the taking of turns between what is compared. Pure but for the work it is given. */

/** Measurements of one thing, in one unit. */
export interface Figure {
  readonly name: string;
  readonly unit: Unit;
  readonly median: number;
  readonly least: number;
  readonly most: number;
  /** How many measurements. */
  readonly runs: number;
}

export type Unit = 'ms' | 'µs' | 'MB' | 'MB/s';

/** The middle one, or the mean of the two middle ones. Throws RangeError where there is none. */
export const median = (values: readonly number[]): number => {
  const sorted = [...values].sort((a, b) => a - b);
  const [upper, lower] = [sorted[Math.floor(sorted.length / 2)], sorted[Math.floor((sorted.length - 1) / 2)]];
  if (upper === undefined || lower === undefined) throw new RangeError('no measurements, so no median');
  return (lower + upper) / 2;
};

export const figure = (name: string, unit: Unit, values: readonly number[]): Figure => ({
  name,
  unit,
  median: median(values),
  least: Math.min(...values),
  most: Math.max(...values),
  runs: values.length,
});

/** Of the medians. Throws RangeError where the second one is not above zero: nothing can be compared with it. */
export const ratio = (ours: Figure, against: Figure): number => {
  if (!(against.median > 0)) throw new RangeError(`"${against.name}" took no time at all: nothing to compare with`);
  return ours.median / against.median;
};

/**
 * Runs each piece of work `runs` times, one of each in every round, and every other round backwards: a machine that
 * grows slower, or a cache that one leaves warm for the next, touches all of them alike.
 */
export const interleave = async (runs: number, work: readonly (() => Promise<void>)[]): Promise<void> => {
  const backwards = [...work].reverse();
  for (let run = 0; run < runs; run += 1) {
    for (const one of run % 2 === 0 ? work : backwards) await one();
  }
};

/** Milliseconds that the work took, and what it gave. */
export const timed = async <T>(work: () => Promise<T>): Promise<{ readonly ms: number; readonly value: T }> => {
  const begun = performance.now();
  const value = await work();
  return { ms: performance.now() - begun, value };
};
