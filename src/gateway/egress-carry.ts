/**
 * Carries bytes between two streams, as fast as the slower one takes them and no further than a turn's cap. Each
 * direction ends by itself; the connection is over when both have ended, either breaks, or nothing moves any more.
 */
import type { Socket } from 'node:net';
import type { Duplex, Readable, Writable } from 'node:stream';

/** The bytes that a turn has left, over all of its connections. */
export interface Meter {
  /** True where so many more are within the cap; else they are used up for good. */
  take(bytes: number): boolean;
  isSpent(): boolean;
}

export const createMeter = (bytesMax: number): Meter => {
  const state = { left: bytesMax };
  return {
    take: (bytes) => {
      state.left -= bytes;
      return state.left >= 0;
    },
    isSpent: () => state.left <= 0,
  };
};

export interface Carried {
  up: number;
  down: number;
  /** Why it ended before either side ended it; null: it didn't. */
  cut: string | null;
}

export interface Flow {
  readonly from: Readable;
  readonly to: Writable;
  readonly meter: Meter;
  readonly carried: Carried;
  readonly way: 'up' | 'down';
  /** The turn's bytes are used up. */
  readonly onSpent: () => void;
}

/** Bytes that may wait for the receiver. Less than a few pieces, and both sides would take turns waiting. */
const WAITING_MAX = 256 * 1024;

/** Passes pieces on, and the end; nothing is held but what the receiver has been given. */
export const flow = ({ from, to, meter, carried, way, onSpent }: Flow): void => {
  from.on('data', (chunk: Buffer) => {
    carried[way] += chunk.length;
    if (!meter.take(chunk.length)) return onSpent();
    if (to.destroyed || to.write(chunk) || to.writableLength < WAITING_MAX) return;
    from.pause();
    to.once('drain', () => from.resume());
  });
  from.once('end', () => to.end());
};

export interface Tunnel {
  readonly client: Duplex;
  readonly host: Socket;
  readonly meter: Meter;
  readonly idleMs: number;
  readonly signal: AbortSignal;
}

/** Settles when both sides are closed; never rejects. */
export const carry = ({ client, host, meter, idleMs, signal }: Tunnel, carried: Carried): Promise<void> =>
  new Promise((resolve) => {
    const cut = (why: string | null): void => {
      carried.cut ??= why;
      client.destroy();
      host.destroy();
    };
    const onSpent = (): void => cut('the bytes of this turn are used up');
    const onAbort = (): void => cut('the turn is over');
    const left = new Set([client, host]);
    for (const side of [client, host]) {
      side.once('close', () => {
        left.delete(side);
        // A side that closed without ending its stream would leave the other one waiting for ever.
        if (!side.readableEnded || !side.writableFinished) cut(null);
        if (left.size > 0) return;
        signal.removeEventListener('abort', onAbort);
        resolve();
      });
    }
    host.setTimeout(idleMs, () => cut('nothing moved'));
    signal.addEventListener('abort', onAbort, { once: true });
    flow({ from: client, to: host, meter, carried, way: 'up', onSpent });
    flow({ from: host, to: client, meter, carried, way: 'down', onSpent });
    if (signal.aborted) onAbort();
  });
