/**
 * The way out of one turn: absolute-form HTTP and CONNECT, each judged by policy, then by address, counted, capped and
 * put on record. Nothing that a client or a host sends makes it end otherwise than in an answer or a closed connection.
 */
import type { Logger } from 'pino';
import type { Audit } from '../audit.ts';
import { type AddressRange, rangeOf } from '../domain/egress-address.ts';
import { policyAgainst, type Target } from '../domain/egress-target.ts';
import { type Carried, createMeter, type Meter } from './egress-carry.ts';
import { type EgressClient, httpClient, tunnelClient } from './egress-clients.ts';
import { type NetworkDoors, openDoors, ownNetworks } from './egress-doors.ts';
import { createEgressPlaces, type EgressPlaces } from './egress-places.ts';
import {
  EGRESS_TIMEOUTS,
  type EgressRefusal,
  type EgressTimeouts,
  ownRanges,
  type Reached,
  reach,
} from './egress-reach.ts';
import { type Attempt, type Course, createEgressRecord, type EgressRecord } from './egress-record.ts';
import type { GatewayGrant } from './gateway.ts';
import type { EgressRoute } from './router.ts';

export interface EgressOptions {
  readonly audit: Pick<Audit, 'record'>;
  /** Default: the machine's own network. */
  readonly doors?: NetworkDoors | undefined;
  readonly timeouts?: EgressTimeouts | undefined;
}

interface Shared {
  readonly doors: NetworkDoors;
  readonly timeouts: EgressTimeouts;
  readonly places: EgressPlaces;
  /** Of this machine, as it is now. */
  readonly own: () => readonly AddressRange[];
}

interface State extends Shared {
  readonly grant: GatewayGrant;
  readonly denied: readonly AddressRange[];
  readonly meter: Meter;
  readonly record: EgressRecord;
  readonly live: Map<AbortController, Promise<void>>;
  closed: boolean;
}

/** One connection while it lasts. */
interface Visit {
  readonly client: EgressClient;
  readonly attempt: Attempt;
  readonly signal: AbortSignal;
  readonly carried: Carried;
}

interface Outcome {
  readonly address: string | null;
  readonly refusal: EgressRefusal | undefined;
}

const OVER = new Error('the turn is over');
const GONE = new Error('the client is gone');
const SPENT = { allow: false, status: 403, reason: 'the bytes of this turn are used up' } as const;
const HOST_CHARS_MAX = 260;

const refused = (refusal: EgressRefusal): Outcome => ({ address: refusal.address ?? null, refusal });

const useReached = async (state: State, { client, signal, carried }: Visit, reached: Reached): Promise<Outcome> => {
  const { meter, timeouts } = state;
  try {
    const refusal = await client.use({ socket: reached.socket, meter, timeouts, signal }, carried);
    return { address: reached.address, refusal };
  } finally {
    reached.socket.destroy();
  }
};

const goThrough = async (state: State, visit: Visit, target: Target): Promise<Outcome> => {
  const { grant, meter, places } = state;
  const against = policyAgainst(grant.egress, target);
  if (against !== undefined) return refused(against);
  if (meter.isSpent()) return refused(SPENT);
  const place = places.take(grant.group, grant.egress);
  if (!place.allow) return refused(place);
  try {
    const reached = await reach(state, {
      target,
      denied: [...state.denied, ...state.own()],
      opening: (address) => state.record.opening(visit.attempt, address),
      signal: visit.signal,
    });
    return reached.allow ? await useReached(state, visit, reached) : refused(reached);
  } finally {
    place.leave();
  }
};

const outcomeOf = async (state: State, visit: Visit): Promise<Outcome> => {
  const { judged } = visit.client;
  try {
    return judged.allow ? await goThrough(state, visit, judged.target) : refused(judged);
  } catch {
    // Aborted, mostly; whatever else it was, this connection alone ends with it.
    const reason = visit.signal.aborted ? String(visit.signal.reason.message) : 'the connection failed';
    return refused({ allow: false, status: 502, reason });
  }
};

/** Statuses of what was tried in vain; all others are a refusal of ours. */
const FAILED: readonly number[] = [502, 504];

const verdictOf = (refusal: EgressRefusal | undefined): Course['verdict'] => {
  if (refusal === undefined) return 'allowed';
  return FAILED.includes(refusal.status) ? 'failed' : 'refused';
};

const note = ({ record }: State, { attempt, carried }: Visit, { outcome, ms }: { outcome: Outcome; ms: number }) => {
  const { address, refusal } = outcome;
  const { up, down, cut } = carried;
  record.over(attempt, {
    verdict: verdictOf(refusal),
    reason: refusal?.detail ?? refusal?.reason ?? cut,
    address,
    up,
    down,
    ms,
  });
};

const attend = async (state: State, client: EgressClient, signal: AbortSignal): Promise<void> => {
  const beganAt = performance.now();
  const { judged, how, written } = client;
  const target = judged.allow ? judged.target : { host: written.slice(0, HOST_CHARS_MAX), port: null };
  const attempt: Attempt = { how, host: target.host, port: target.port };
  const visit: Visit = { client, attempt, signal, carried: { up: 0, down: 0, cut: null } };
  const outcome = await outcomeOf(state, visit);
  note(state, visit, { outcome, ms: Math.round(performance.now() - beganAt) });
  if (outcome.refusal !== undefined) await client.refuse(outcome.refusal);
};

const visit = async (state: State, client: EgressClient): Promise<void> => {
  if (state.closed) return client.destroy();
  const controller = new AbortController();
  client.onGone(() => controller.abort(GONE));
  // A client that breaks while it is being refused has nobody left to tell.
  const done = attend(state, client, controller.signal).catch(() => client.destroy());
  state.live.set(controller, done);
  await done;
  state.live.delete(controller);
};

const abortAll = async (state: State): Promise<void> => {
  if (state.closed) return void (await Promise.all(state.live.values()));
  state.closed = true;
  for (const controller of state.live.keys()) controller.abort(OVER);
  await Promise.all(state.live.values());
  state.record.close();
};

const sessionOf = (state: State): EgressRoute => ({
  handle: (request, response) => visit(state, httpClient(request, response)),
  tunnel: (ask) => visit(state, tunnelClient(ask)),
  noteRefusal: (reason) =>
    state.record.over(
      { how: 'http', host: '', port: null },
      { verdict: 'refused', reason, address: null, up: 0, down: 0, ms: 0 },
    ),
  abort: () => abortAll(state),
});

/** Read anew where the machine's networks have changed. */
const ownRangesReader = (): (() => readonly AddressRange[]) => {
  const read = ownNetworks(() => performance.now());
  const kept: { cidrs: readonly string[]; ranges: readonly AddressRange[] } = { cidrs: [], ranges: [] };
  return () => {
    const cidrs = read();
    if (cidrs !== kept.cidrs) Object.assign(kept, { cidrs, ranges: ownRanges(cidrs) });
    return kept.ranges;
  };
};

/** Opens the way out of one turn after the other; what a group has open is counted over all of them. */
export const createEgress = (
  options: EgressOptions & { readonly logger: Logger },
): ((grant: GatewayGrant) => EgressRoute) => {
  const { audit, logger } = options;
  const shared: Shared = {
    doors: options.doors ?? openDoors(),
    timeouts: options.timeouts ?? EGRESS_TIMEOUTS,
    places: createEgressPlaces(() => performance.now()),
    own: ownRangesReader(),
  };
  return (grant) =>
    sessionOf({
      ...shared,
      grant,
      denied: grant.egress.deny.map((cidr) => rangeOf(cidr, 'in a range that is denied here')),
      meter: createMeter(grant.egress.bytesPerTurn),
      record: createEgressRecord({ audit, logger, grant }),
      live: new Map(),
      closed: false,
    });
};
