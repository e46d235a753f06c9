/**
 * Places for requests under way, one count per group over all of its invocations, in memory. A place is taken before a
 * request's body is read, so the memory and the time that bodies cost are bounded, whatever becomes of the requests.
 */

export interface Place {
  readonly allow: true;
  /** The request came to nothing; so many of them in a minute, and the group has to wait. */
  noteRefused(nowMs: number): void;
  /** Idempotent. */
  leave(): void;
}

export interface NoPlace {
  readonly allow: false;
  readonly status: 429;
  readonly reason: string;
  readonly retryAfterSeconds: number;
  readonly cap?: 'concurrent';
}

export interface PlaceAsk {
  readonly group: string;
  readonly concurrent: number;
  /** Of the monotonic clock. */
  readonly nowMs: number;
}

export interface Places {
  take(ask: PlaceAsk): Place | NoPlace;
}

interface Group {
  readonly active: Set<Place>;
  /** When requests were refused within the last minute, oldest first; never more than the cap and those under way. */
  readonly refusedAt: number[];
}

const MINUTE_MS = 60_000;
/** A request under way ends at some time that nobody knows. */
const BUSY_RETRY_SECONDS = 1;
/** Reading and checking a body of 4 MB takes the one event loop some 10 ms: 1 % of a minute for 60. */
const REFUSED_PER_MINUTE = 60;

const newPlace = (group: Group, onEmpty: () => void): Place => {
  const place: Place = {
    allow: true,
    noteRefused: (nowMs) => void group.refusedAt.push(nowMs),
    leave: () => {
      group.active.delete(place);
      if (group.active.size + group.refusedAt.length === 0) onEmpty();
    },
  };
  group.active.add(place);
  return place;
};

export const createPlaces = (): Places => {
  const groups = new Map<string, Group>();
  return {
    take: ({ group: id, concurrent, nowMs }) => {
      const group = groups.get(id) ?? { active: new Set(), refusedAt: [] };
      groups.set(id, group);
      if (group.active.size >= concurrent) {
        const reason = `this chat may make ${concurrent} model requests at once`;
        return { allow: false, status: 429, reason, retryAfterSeconds: BUSY_RETRY_SECONDS, cap: 'concurrent' };
      }
      while (group.refusedAt[0] !== undefined && group.refusedAt[0] <= nowMs - MINUTE_MS) group.refusedAt.shift();
      const [oldest] = group.refusedAt;
      if (oldest === undefined || group.refusedAt.length < REFUSED_PER_MINUTE) {
        return newPlace(group, () => groups.delete(id));
      }
      const reason = `${REFUSED_PER_MINUTE} of this chat’s model requests have been refused within a minute`;
      const retryAfterSeconds = Math.ceil((oldest + MINUTE_MS - nowMs) / 1000);
      return { allow: false, status: 429, reason, retryAfterSeconds };
    },
  };
};
