/** How many connections a group has open and how fast it opens them, over all of its turns; in memory. */
import type { Egress } from '../domain/egress.ts';

export interface EgressPlace {
  readonly allow: true;
  /** Idempotent. */
  leave(): void;
}

export interface NoEgressPlace {
  readonly allow: false;
  readonly status: 429;
  readonly reason: string;
  readonly retryAfterSeconds: number;
}

export interface EgressPlaces {
  take(group: string, egress: Egress): EgressPlace | NoEgressPlace;
}

interface Use {
  readonly open: Set<EgressPlace>;
  /** Connections that may still be opened now; grows with time up to a burst. */
  left: number;
  atMs: number;
}

const SECONDS = 60;
const BUSY_RETRY_SECONDS = 1;

/** A minute's worth at once would be a burst of lines to disk; a page with all that is on it is not that much. */
const BURST_SHARE = 1 / 4;

const burstOf = ({ connections, connectionsPerMinute }: Egress): number =>
  Math.min(connectionsPerMinute, Math.max(connections, Math.ceil(connectionsPerMinute * BURST_SHARE)));

const refill = (use: Use, egress: Egress, nowMs: number): void => {
  const grown = ((nowMs - use.atMs) / 1000) * (egress.connectionsPerMinute / SECONDS);
  use.left = Math.min(burstOf(egress), use.left + Math.max(0, grown));
  use.atMs = nowMs;
};

const full = (reason: string, retryAfterSeconds: number): NoEgressPlace => ({
  allow: false,
  status: 429,
  reason,
  retryAfterSeconds,
});

/** `clock`: monotonic, in milliseconds. */
export const createEgressPlaces = (clock: () => number): EgressPlaces => {
  const uses = new Map<string, Use>();
  const useOf = (group: string, egress: Egress): Use => {
    const use = uses.get(group) ?? { open: new Set(), left: burstOf(egress), atMs: clock() };
    uses.set(group, use);
    refill(use, egress, clock());
    return use;
  };
  return {
    take: (group, egress) => {
      const { connections, connectionsPerMinute: perMinute } = egress;
      const use = useOf(group, egress);
      if (use.open.size >= connections) {
        return full(`this chat may have ${connections} connections at once`, BUSY_RETRY_SECONDS);
      }
      if (use.left < 1) {
        const wait = Math.ceil(((1 - use.left) * SECONDS) / perMinute);
        return full(`this chat may open ${perMinute} connections a minute`, wait);
      }
      use.left -= 1;
      const place: EgressPlace = { allow: true, leave: () => void use.open.delete(place) };
      use.open.add(place);
      return place;
    },
  };
};
