/**
 * Requests at once and per minute of one invocation, in memory. What must survive a restart (tokens and money per day)
 * isn't counted here.
 */
import type { TierModelCaps } from '../domain/tiers.ts';

export interface Slot {
  readonly allow: true;
  /** Idempotent. */
  release(): void;
}

export interface NoSlot {
  readonly allow: false;
  readonly reason: string;
  readonly retryAfterSeconds: number;
}

export interface RequestCaps {
  /** Takes a place for one request. `nowMs` never goes back. */
  take(nowMs: number): Slot | NoSlot;
}

const MINUTE_MS = 60_000;
/** A request under way ends at some time that nobody knows. */
const BUSY_RETRY_SECONDS = 1;

export const createRequestCaps = (caps: Pick<TierModelCaps, 'concurrent' | 'requestsPerMinute'>): RequestCaps => {
  const active = new Set<Slot>();
  /** Start times within the last minute, oldest first; never more than the cap. */
  const started: number[] = [];
  const takeSlot = (nowMs: number): Slot => {
    const slot: Slot = { allow: true, release: () => void active.delete(slot) };
    active.add(slot);
    started.push(nowMs);
    return slot;
  };
  return {
    take: (nowMs) => {
      if (active.size >= caps.concurrent) {
        const reason = `this turn may make ${caps.concurrent} model requests at once`;
        return { allow: false, reason, retryAfterSeconds: BUSY_RETRY_SECONDS };
      }
      while (started[0] !== undefined && started[0] <= nowMs - MINUTE_MS) started.shift();
      const oldest = started[0];
      if (oldest === undefined || started.length < caps.requestsPerMinute) return takeSlot(nowMs);
      const reason = `this turn may make ${caps.requestsPerMinute} model requests a minute`;
      return { allow: false, reason, retryAfterSeconds: Math.ceil((oldest + MINUTE_MS - nowMs) / 1000) };
    },
  };
};
