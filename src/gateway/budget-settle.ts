/**
 * What a request is settled with when it is over, however it ended. Pure. A client can hang up whenever it likes, so
 * hanging up must never be cheaper than reading to the end.
 */
import type { TokenUse } from '../domain/prices.ts';
import { estimateTokens } from './budget.ts';
import { UpstreamError } from './upstream.ts';
import type { Usage } from './usage-tap.ts';

export interface Course {
  /** null: no answer came. */
  readonly answer: { readonly status: number; readonly usage: Usage } | null;
  /** What the exchange failed with. */
  readonly error: unknown;
  /** The client hung up, or its turn is over. */
  readonly isAbandoned: boolean;
  /** From the request to now. */
  readonly lastedMs: number;
  /** The most tokens that it could get. */
  readonly outputMax: number;
}

const NOTHING: TokenUse = {
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  cacheWriteHourTokens: 0,
};

/** Faster than what the big providers' models write, thinking that isn't shown included. */
const TOKENS_PER_SECOND = 200;

/** The connection never came about, so the provider has heard of nothing. */
const NEVER_SENT: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);

const wasNeverSent = (error: unknown): boolean => {
  const cause = error instanceof UpstreamError ? error.cause : undefined;
  return cause instanceof Error && 'code' in cause && NEVER_SENT.has(String(cause.code));
};

/** A stream that was left half-way has told its input, but of its output only the beginning. */
const abandonedOutput = ({ lastedMs, outputMax }: Course, usage: Usage): number => {
  const written = Math.max(estimateTokens(usage.bytes), Math.ceil((lastedMs / 1000) * TOKENS_PER_SECOND));
  return Math.max(usage.outputTokens, Math.min(outputMax, written));
};

/** null: unknown, the reservation stands. An answer that isn't a success costs nothing. */
export const settlementOf = (course: Course): TokenUse | null => {
  const { answer } = course;
  if (answer === null) return wasNeverSent(course.error) ? NOTHING : null;
  if (answer.status >= 300) return NOTHING;
  const { usage } = answer;
  if (usage.report === 0) return null;
  if (usage.report === 2 || !course.isAbandoned) return usage;
  return { ...usage, outputTokens: abandonedOutput(course, usage) };
};
