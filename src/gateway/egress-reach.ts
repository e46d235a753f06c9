/**
 * From a target to a connected socket: resolve, judge every address, put it on record, dial one of those that were
 * judged. A name is resolved once, and where one of its addresses is denied, so is the name.
 */
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { type AddressRange, judgeAddress, rangeOf } from '../domain/egress-address.ts';
import type { Target } from '../domain/egress-target.ts';
import type { Dial, NetworkDoors } from './egress-doors.ts';

export interface EgressTimeouts {
  readonly resolveMs: number;
  /** For all of a name's addresses together. */
  readonly connectMs: number;
  /** To the end of the head of an answer over plain HTTP. */
  readonly headersMs: number;
  /** No byte either way. */
  readonly idleMs: number;
}

export const EGRESS_TIMEOUTS: EgressTimeouts = {
  resolveMs: 5_000,
  connectMs: 10_000,
  headersMs: 60_000,
  idleMs: 120_000,
};

export interface EgressRefusal {
  readonly allow: false;
  readonly status: number;
  /** For the container: nothing of the network behind a name. */
  readonly reason: string;
  /** For the trail, where it is more. */
  readonly detail?: string;
  readonly address?: string;
  readonly retryAfterSeconds?: number;
}

export interface Reached {
  readonly allow: true;
  readonly socket: Socket;
  readonly address: string;
}

export interface ReachAsk {
  readonly target: Target;
  readonly denied: readonly AddressRange[];
  /** Puts the attempt on record; throws where that fails. */
  readonly opening: (address: string) => void;
  readonly signal: AbortSignal;
}

export interface ReachParts {
  readonly doors: NetworkDoors;
  readonly timeouts: EgressTimeouts;
}

interface Bound {
  readonly signal: AbortSignal;
  readonly ms: number;
}

/** So many of a name's addresses are dialled. */
const DIALLED_MAX = 3;
/** As many are looked at; each is compared with every denied range. */
const ADDRESSES_MAX = 32;

const no = (status: number, reason: string, more: Partial<EgressRefusal> = {}): EgressRefusal => ({
  allow: false,
  status,
  reason,
  ...more,
});

/** This machine's own addresses, and their networks where those are no larger than a site's. */
export const ownRanges = (cidrs: readonly string[]): readonly AddressRange[] =>
  cidrs.flatMap((cidr) => {
    const [address = '', bits = ''] = cidr.split('/');
    const isIPv6 = address.includes(':');
    const alone = rangeOf(`${address}/${isIPv6 ? 128 : 32}`, 'an address of this machine');
    const isSite = Number(bits) >= (isIPv6 ? 48 : 16);
    return isSite ? [alone, rangeOf(cidr, 'in a network of this machine')] : [alone];
  });

/** What `work` gives, or null after that time. Rejects where `work` does or `signal` is aborted, which ends the wait. */
const within = <T>(work: Promise<T>, { signal, ms }: Bound): Promise<T | null> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(() => resolve(null), ms);
    const onAbort = (): void => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    work.then(resolve, reject).finally(() => {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
    });
  });

const resolveTarget = async (
  { doors, timeouts }: ReachParts,
  { target: { host, isAddress }, signal }: ReachAsk,
): Promise<readonly string[] | EgressRefusal> => {
  if (isAddress) return [host];
  try {
    const found = await within(doors.resolve(host), { signal, ms: timeouts.resolveMs });
    if (found === null) return no(504, 'the name of the host could not be resolved in time');
    return found.length === 0 ? no(502, 'the name of the host has no address') : found.slice(0, ADDRESSES_MAX);
  } catch {
    signal.throwIfAborted();
    // Why a resolver failed says nothing that helps whoever asked for the name.
    return no(502, 'the name of the host could not be resolved');
  }
};

const refusalFor = (verdict: { readonly reason: string; readonly isOurs: boolean }, { isAddress }: Target): string => {
  if (!isAddress) return 'the host has an address that is not public';
  return verdict.isOurs ? 'this address may not be reached' : verdict.reason;
};

/** A container learns what everybody knows of an address that it named; not what a name leads to, nor what is ours. */
const judgeAll = (found: readonly string[], { target, denied }: ReachAsk): readonly string[] | EgressRefusal => {
  const addresses: string[] = [];
  for (const one of found) {
    const verdict = judgeAddress(one, denied);
    if (!verdict.allow) {
      const reason = refusalFor(verdict, target);
      return no(403, reason, { detail: verdict.reason, address: one.slice(0, 64) });
    }
    addresses.push(verdict.address);
  }
  return [...new Set(addresses)];
};

const isRefusal = (value: readonly string[] | EgressRefusal): value is EgressRefusal => 'allow' in value;

/** A connected socket, or null where the address can't be reached in time. Throws what `signal` was aborted with. */
const dialOne = async ({ doors }: ReachParts, to: Dial, { signal, ms }: Bound): Promise<Socket | null> => {
  const socket = doors.dial(to);
  // Heard for as long as it lives: whoever gets it may come too late for an early reset.
  socket.on('error', () => socket.destroy());
  try {
    await once(socket, 'connect', { signal: AbortSignal.any([signal, AbortSignal.timeout(ms)]) });
    return socket;
  } catch {
    // Refused, unreachable or late: the same to whoever asked.
    socket.destroy();
    signal.throwIfAborted();
    return null;
  }
};

const isOnRecord = (address: string, { opening }: ReachAsk): boolean => {
  try {
    opening(address);
    return true;
  } catch {
    // Whoever asked is told; the operator hears of a trail that can't be written from the turns that need it.
    return false;
  }
};

const dialAny = async (
  parts: ReachParts,
  addresses: readonly string[],
  ask: ReachAsk,
): Promise<Reached | EgressRefusal> => {
  const tried = addresses.slice(0, DIALLED_MAX);
  const ms = Math.ceil(parts.timeouts.connectMs / tried.length);
  for (const address of tried) {
    if (!isOnRecord(address, ask)) return no(503, 'the connection could not be put on record', { address });
    const socket = await dialOne(parts, { address, port: ask.target.port }, { signal: ask.signal, ms });
    if (socket !== null) return { allow: true, socket, address };
  }
  return no(502, 'the host could not be reached', { address: tried.join(' ') });
};

/** Rejects where `signal` is aborted. The socket has an error listener and nothing else on it. */
export const reach = async (parts: ReachParts, ask: ReachAsk): Promise<Reached | EgressRefusal> => {
  const found = await resolveTarget(parts, ask);
  if (isRefusal(found)) return found;
  const addresses = judgeAll(found, ask);
  return isRefusal(addresses) ? addresses : dialAny(parts, addresses, ask);
};
