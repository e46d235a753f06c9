/** The two kinds of clients that want out, as one: what they ask for, how they are answered, how they are served. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import {
  type HttpTarget,
  isSameAuthority,
  readAuthority,
  readHttpUrl,
  type Target,
  type TargetRefusal,
} from '../domain/egress-target.ts';
import { answerRefusal, ESTABLISHED, endRefused } from './egress-answer.ts';
import { type Carried, carry, type Meter } from './egress-carry.ts';
import { exchangeHttp } from './egress-http.ts';
import type { EgressRefusal, EgressTimeouts } from './egress-reach.ts';
import { discardBody } from './read-body.ts';
import type { TunnelAsk } from './router.ts';

/** What a client gets that may go through. */
export interface Passage {
  readonly socket: Socket;
  readonly meter: Meter;
  readonly timeouts: EgressTimeouts;
  readonly signal: AbortSignal;
}

export interface EgressClient {
  readonly how: 'tunnel' | 'http';
  /** The target as it was written. */
  readonly written: string;
  readonly judged: { readonly allow: true; readonly target: Target } | TargetRefusal;
  /** Calls back once when the client goes before it has been served. */
  onGone(gone: () => void): void;
  /** Settles when it is over; a refusal is what the client is still to be told. Rejects when the passage is aborted. */
  use(passage: Passage, carried: Carried): Promise<EgressRefusal | undefined>;
  refuse(refusal: EgressRefusal): Promise<void>;
  destroy(): void;
}

export const tunnelClient = ({ request, socket, head }: TunnelAsk): EgressClient => {
  const written = request.url ?? '';
  const watch: { gone: () => void } = { gone: () => undefined };
  return {
    how: 'tunnel',
    written,
    judged: readAuthority(written, null),
    onGone: (gone) => {
      watch.gone = gone;
      socket.once('close', gone);
    },
    use: async ({ socket: host, meter, timeouts, signal }, carried) => {
      socket.off('close', watch.gone);
      socket.write(ESTABLISHED);
      if (head.length > 0) socket.unshift(head);
      await carry({ client: socket, host, meter, idleMs: timeouts.idleMs, signal }, carried);
      return undefined;
    },
    refuse: async (refusal) => endRefused(socket, refusal),
    destroy: () => void socket.destroy(),
  };
};

const malformed = (reason: string): TargetRefusal => ({ allow: false, status: 400, reason });

const judgeHttp = ({ url = '', headers }: IncomingMessage): HttpTarget | TargetRefusal => {
  const read = readHttpUrl(url);
  if (!read.allow) return read;
  if (!isSameAuthority(headers.host ?? '', read.target)) return malformed('the Host header names another host');
  const coding = headers['transfer-encoding'];
  return coding === undefined || coding.toLowerCase() === 'chunked'
    ? read
    : malformed('the only transfer-encoding that is passed on is chunked');
};

export const httpClient = (request: IncomingMessage, response: ServerResponse): EgressClient => {
  const judged = judgeHttp(request);
  // Broken connections are ordinary here; they end the exchange through `onGone`.
  request.on('error', () => undefined);
  response.on('error', () => undefined);
  return {
    how: 'http',
    written: request.url ?? '',
    judged,
    onGone: (gone) => void response.once('close', gone),
    use: async (passage, carried) => {
      if (!judged.allow) return judged;
      return exchangeHttp({ ...passage, request, response, to: judged.target, path: judged.path }, carried);
    },
    refuse: async (refusal) => {
      if (!response.headersSent) await discardBody(request);
      answerRefusal(response, refusal);
    },
    destroy: () => void response.destroy(),
  };
};
