/** What a bench is, and what it reports: bars with what was measured against them, the figures, and their parts. */
import { type Figure, ratio, type Unit } from './statistics.ts';

/** One promise: `measured` may not be more than `bar`. */
export interface Check {
  readonly what: string;
  readonly measured: number;
  readonly bar: number;
  /** `×`: a ratio of two medians. */
  readonly unit: Unit | '×';
  readonly ok: boolean;
}

export interface Result {
  readonly name: string;
  readonly title: string;
  readonly checks: readonly Check[];
  readonly figures: readonly Figure[];
  /** What a reader has to know to judge the figures. */
  readonly notes: readonly string[];
}

export interface BenchOptions {
  /** Measurements of each figure, at least. */
  readonly runs: number;
  /** One line of progress. */
  readonly tell: (line: string) => void;
}

export interface Bench {
  readonly name: string;
  readonly title: string;
  measure(options: BenchOptions): Promise<Omit<Result, 'name' | 'title'>>;
}

export const atMost = (what: string, measured: number, limit: { bar: number; unit: Check['unit'] }): Check => ({
  what,
  measured,
  ...limit,
  ok: measured <= limit.bar,
});

/** A ratio of two medians against its bar. */
export const ratioAtMost = (ours: Figure, against: Figure, bar: number): Check =>
  atMost(`${ours.name} ÷ ${against.name}`, ratio(ours, against), { bar, unit: '×' });
