/** The states of one turn. A union, so that a state carries exactly what is true in it. */
import type { GroupId, InvocationId, SessionName } from './ids.ts';
import type { TierName } from './tiers.ts';

export const END_REASONS = [
  'completed',
  'failed',
  'timeout',
  'oom',
  'disk',
  'output',
  'cancelled',
  'engine-lost',
] as const;
export type EndReason = (typeof END_REASONS)[number];

/** Milliseconds since the message was accepted; null: that point was not reached. */
export interface Timings {
  readonly queuedMs: number | null;
  readonly stagedMs: number | null;
  readonly startedMs: number | null;
  readonly firstModelRequestMs: number | null;
  readonly totalMs: number | null;
}

export type InvocationState = 'staging' | 'starting' | 'running' | 'stopping' | 'ended';

/** The record that outlives the container. */
export interface InvocationRecord {
  readonly id: InvocationId;
  readonly group: GroupId;
  readonly session: SessionName;
  readonly tier: TierName;
  readonly agent: string;
  readonly state: InvocationState;
  /** Set with `ended` alone. */
  readonly reason: EndReason | null;
  /** For the operator; null where it completed. */
  readonly detail: string | null;
  readonly timings: Timings;
  /** ISO 8601, UTC. */
  readonly createdAt: string;
}
