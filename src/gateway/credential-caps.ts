/** How often, and how many at once, a group uses a credential, over all of its turns. In memory: a minute is short. */
import type { RouteCaps } from '../domain/credential-plan.ts';
import { type Refusal, refusal } from './rules.ts';

export interface CredentialPlace {
  readonly allow: true;
  /** Idempotent. */
  leave(): void;
}

export type NoCredentialPlace = Refusal & { readonly retryAfterSeconds: number };

export interface CredentialAsk {
  readonly group: string;
  readonly route: string;
  readonly caps: Pick<RouteCaps, 'concurrent' | 'requestsPerMinute'>;
  /** Of the monotonic clock. */
  readonly nowMs: number;
}

export interface CredentialPlaces {
  take(ask: CredentialAsk): CredentialPlace | NoCredentialPlace;
}

interface Use {
  readonly active: Set<CredentialPlace>;
  /** When requests began within the last minute, oldest first; never more than the cap. */
  readonly begunAt: number[];
}

const MINUTE_MS = 60_000;

const refuseUntil = (reason: string, retryAfterSeconds: number): NoCredentialPlace => ({
  ...refusal(429, reason),
  retryAfterSeconds,
});

const forgetOld = ({ begunAt }: Use, nowMs: number): void => {
  while (begunAt[0] !== undefined && begunAt[0] <= nowMs - MINUTE_MS) begunAt.shift();
};

const newPlace = ({ active, begunAt }: Use, nowMs: number): CredentialPlace => {
  const place: CredentialPlace = { allow: true, leave: () => void active.delete(place) };
  active.add(place);
  begunAt.push(nowMs);
  return place;
};

export const createCredentialPlaces = (): CredentialPlaces => {
  const uses = new Map<string, Use>();
  /** Groups that use nothing any more leave nothing behind. */
  const forgetIdle = (nowMs: number): void => {
    for (const [key, use] of uses) {
      forgetOld(use, nowMs);
      if (use.active.size + use.begunAt.length === 0) uses.delete(key);
    }
  };
  return {
    take: ({ group, route, caps, nowMs }) => {
      forgetIdle(nowMs);
      const key = `${route} ${group}`;
      const use = uses.get(key) ?? { active: new Set(), begunAt: [] };
      if (use.active.size >= caps.concurrent) {
        return refuseUntil(`this chat may make ${caps.concurrent} requests to /cred/${route} at once`, 1);
      }
      const [oldest] = use.begunAt;
      if (oldest !== undefined && use.begunAt.length >= caps.requestsPerMinute) {
        const reason = `this chat may make ${caps.requestsPerMinute} requests a minute to /cred/${route}`;
        return refuseUntil(reason, Math.ceil((oldest + MINUTE_MS - nowMs) / 1000));
      }
      uses.set(key, use);
      return newPlace(use, nowMs);
    },
  };
};
