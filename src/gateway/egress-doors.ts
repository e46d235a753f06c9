/**
 * The two doors to the network that egress goes through: what a name resolves to, and a connection to an address. They
 * decide nothing. Names are asked for without the thread pool: a server that never answers must not hold up the files.
 */
import { Resolver } from 'node:dns/promises';
import { connect, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';

export interface Dial {
  readonly address: string;
  readonly port: number;
}

export interface NetworkDoors {
  /** Every address that a name has, IPv4 first; rejects or gives none where it has none. */
  resolve(host: string): Promise<readonly string[]>;
  /** A socket on its way to exactly this address, open half each (`allowHalfOpen`); it must not resolve anything. */
  dial(to: Dial): Socket;
}

/** Of one question; asked twice. */
const QUESTION_MS = 2_000;

const resolve = async (host: string): Promise<readonly string[]> => {
  // One of its own: it reads the machine's configuration anew, and nobody else's questions hang on it.
  const resolver = new Resolver({ timeout: QUESTION_MS, tries: 2 });
  const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
  return answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
};

export const openDoors = (): NetworkDoors => ({
  resolve,
  dial: ({ address, port }) => connect({ host: address, port, allowHalfOpen: true, noDelay: true }),
});

/** Interfaces come and go with containers and links. */
const INTERFACES_KEPT_MS = 1_000;

/** Addresses of this machine with their networks, in CIDR form, read again when they are older than a second. */
export const ownNetworks = (clock: () => number): (() => readonly string[]) => {
  const kept: { at: number; cidrs: readonly string[] } = { at: Number.NEGATIVE_INFINITY, cidrs: [] };
  return () => {
    const now = clock();
    if (now - kept.at < INTERFACES_KEPT_MS) return kept.cidrs;
    kept.at = now;
    kept.cidrs = Object.values(networkInterfaces()).flatMap((addresses = []) =>
      addresses.flatMap(({ cidr }) => (cidr === null ? [] : [cidr])),
    );
    return kept.cidrs;
  };
};
