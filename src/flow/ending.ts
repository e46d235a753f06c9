/** How a turn ends, as a value: from a thrown error, a container's exit, a runner's error frame, a limit. Pure. */
import type { EndReason } from '../domain/invocation.ts';
import { type PublicCause, providerCause } from '../domain/notice.ts';
import { type AppError, toAppError } from '../errors.ts';
import type { RunnerFrame } from '../protocol.ts';
import type { ExitReport } from '../runtimes/runtime.ts';
import type { RetryRule, Settlement } from '../store/inbound.ts';
import type { CancelReason } from './queue.ts';
import type { DiskEnd } from './quota-places.ts';

export interface Ending {
  readonly reason: EndReason;
  /** For the operator; null where it completed. */
  readonly detail: string | null;
  readonly cause: PublicCause;
  /** What the chat gets as the agent's words; null: nothing. */
  readonly text: string | null;
}

const causeOf = ({ code }: AppError): PublicCause =>
  code === 'engine' || code === 'image' || code === 'config' || code === 'audit' ? code : null;

/** The supervisor could not carry the turn out. */
export const endingOfFailure = (thrown: unknown): Ending => {
  const error = toAppError(thrown);
  const detail = error.hint === undefined ? error.message : `${error.message} (${error.hint})`;
  return { reason: 'failed', detail, cause: causeOf(error), text: null };
};

/** The container's process ended before a result came. */
export const endingOfExit = (report: ExitReport, streamed: string | null): Ending => {
  if (report.engineLost) {
    return { reason: 'engine-lost', detail: 'the engine went away during the turn', cause: 'engine', text: streamed };
  }
  if (report.oomKilled) {
    return { reason: 'oom', detail: 'the container ran out of memory', cause: null, text: streamed };
  }
  const detail = `the runner ended without an answer (exit code ${report.exitCode})`;
  return { reason: 'failed', detail, cause: null, text: streamed };
};

type ErrorFrame = Extract<RunnerFrame, { type: 'error' }>;

/** What the runner says went wrong: a claim, good for a notice. */
export const endingOfError = (frame: ErrorFrame, streamed: string | null): Ending => ({
  reason: frame.kind === 'limit' ? 'timeout' : 'failed',
  detail: frame.message,
  cause: frame.kind === 'provider' ? providerCause(frame.status ?? null) : null,
  text: streamed,
});

export const endingOfTimeout = (wallMs: number, streamed: string | null): Ending => ({
  reason: 'timeout',
  detail: `not done ${wallMs / 1000} s after dispatch`,
  cause: null,
  text: streamed,
});

export const endingOfCancel = (reason: CancelReason, streamed: string | null): Ending => ({
  reason: 'cancelled',
  detail: reason === 'person' ? 'cancelled by the operator' : 'the supervisor was shut down',
  cause: null,
  text: streamed,
});

/** A writable place holds more than it may. `full`: it did before the turn began, and nothing was done. */
export const endingOfDisk = ({ kind, detail }: DiskEnd, streamed: string | null): Ending => ({
  reason: 'disk',
  detail,
  cause: kind === 'full' ? 'no-room' : null,
  text: streamed,
});

const PASSING: ReadonlySet<PublicCause> = new Set(['engine', 'audit', 'provider-busy', 'provider-down']);

/**
 * What becomes of a turn's messages. Trouble with engine, audit trail or provider may pass, so they are tried again, unless the
 * agent has spoken already: it would say it twice. What the operator can mend becomes a dead letter; the rest is over.
 */
export const outcomeOf = (ending: Ending, rule: RetryRule, hasSpoken: boolean): Settlement['outcome'] => {
  const error = ending.detail ?? ending.reason;
  if (ending.reason === 'completed') return { kind: 'done' };
  if (PASSING.has(ending.cause) && !hasSpoken) return { kind: 'retry', rule, error };
  const isKept = PASSING.has(ending.cause) || ending.cause === 'no-room' || ending.reason === 'failed';
  return isKept ? { kind: 'dead', error } : { kind: 'failed' };
};
