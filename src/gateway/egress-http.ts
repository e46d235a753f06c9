/**
 * One plain-HTTP request to a host that has been reached: written anew from its parts, so that what the host reads is
 * what was judged, and streamed both ways. Nothing is followed, upgraded or kept open.
 */
import { once } from 'node:events';
import { type ClientRequest, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Target } from '../domain/egress-target.ts';
import { type Carried, flow, type Meter } from './egress-carry.ts';
import type { EgressRefusal, EgressTimeouts } from './egress-reach.ts';

export interface HttpExchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** As judged. */
  readonly to: Target;
  readonly path: string;
  readonly socket: Socket;
  readonly meter: Meter;
  readonly timeouts: EgressTimeouts;
  readonly signal: AbortSignal;
}

const ANSWER_HEAD_BYTES_MAX = 64 * 1024;

/** About one connection, not about what is carried (RFC 9110 §7.6.1); and what only a proxy reads. */
const HOP_BY_HOP: readonly string[] = [
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-authentication-info',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
  'expect',
];
/** Written by us. */
const OURS: readonly string[] = ['host'];

const pairsOf = (raw: readonly string[]): readonly (readonly [string, string])[] =>
  Array.from({ length: raw.length / 2 }, (_, index) => [raw[2 * index] ?? '', raw[2 * index + 1] ?? ''] as const);

/** End to end only, spelling and order kept; what Connection names goes, too, but for the length. */
const endToEnd = (raw: readonly string[], without: readonly string[] = []): string[] => {
  const pairs = pairsOf(raw);
  const named = pairs
    .filter(([name]) => name.toLowerCase() === 'connection')
    .flatMap(([, value]) => value.toLowerCase().split(','))
    .map((name) => name.trim())
    .filter((name) => name !== 'content-length');
  const dropped = new Set([...HOP_BY_HOP, ...named, ...without]);
  return pairs.filter(([name]) => !dropped.has(name.toLowerCase())).flat();
};

const authority = ({ host, port }: Target): string => {
  const name = host.includes(':') ? `[${host}]` : host;
  return port === 80 ? name : `${name}:${port}`;
};

/** Without a length, a body must be in chunks: the host would take it for the next request. */
const framing = ({ headers }: IncomingMessage): readonly string[] =>
  headers['transfer-encoding'] === undefined ? [] : ['Transfer-Encoding', 'chunked'];

const sendHead = ({ request, to, path, socket }: HttpExchange): ClientRequest =>
  httpRequest({
    createConnection: () => socket,
    method: request.method ?? 'GET',
    path,
    setHost: false,
    headers: ['Host', authority(to), ...endToEnd(request.rawHeaders, OURS), ...framing(request), 'Connection', 'close'],
    maxHeaderSize: ANSWER_HEAD_BYTES_MAX,
  });

const begin = (answer: IncomingMessage, response: ServerResponse): void => {
  const { statusCode = 502, rawHeaders } = answer;
  response.sendDate = false;
  response.writeHead(statusCode, endToEnd(rawHeaders));
};

/** Counted on the wire: interim answers, trailers and what stands between chunks are bytes of the turn like any other. */
const COUNTED: Meter = { take: () => true, isSpent: () => false };

const spend = (socket: Socket, carried: Carried): void => {
  carried.cut = 'the bytes of this turn are used up';
  socket.destroy();
};

/** The answer as it comes; settles when the client's side is closed. */
const relay = async (answer: IncomingMessage, exchange: HttpExchange, carried: Carried): Promise<void> => {
  const { response } = exchange;
  begin(answer, response);
  flow({ from: answer, to: response, meter: COUNTED, carried, way: 'down', onSpent: () => undefined });
  response.flushHeaders();
  answer.once('close', () => {
    if (answer.complete) return;
    // Half an answer must not look like a whole one.
    carried.cut ??= 'the answer broke off';
    response.destroy();
  });
  if (!response.closed) await once(response, 'close');
};

/** The head of the answer. Rejects on whatever else happens first; not every close comes with an error. */
const answerTo = (outgoing: ClientRequest, signal: AbortSignal): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    outgoing.once('response', resolve);
    outgoing.once('error', reject);
    outgoing.once('upgrade', () => reject(new Error('the host changed the protocol unasked')));
    outgoing.once('close', () => reject(new Error('the host closed the connection')));
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });

const failure = (status: number, reason: string): EgressRefusal => ({ allow: false, status, reason });

/** The request's body was counted as it passed; what there was besides it, a head and the frame, is known only now. */
const countHead = ({ socket, meter }: HttpExchange, carried: Carried): void => {
  meter.take(Math.max(0, socket.bytesWritten - carried.up));
  carried.up = socket.bytesWritten;
  carried.down = socket.bytesRead;
};

/** Sends the request; undefined when the client has its answer, else what to tell it. Rejects on abort. */
export const exchangeHttp = async (exchange: HttpExchange, carried: Carried): Promise<EgressRefusal | undefined> => {
  const { request, socket, meter, timeouts, signal } = exchange;
  const outgoing = sendHead(exchange);
  outgoing.on('error', () => socket.destroy());
  const onSpent = (): void => spend(socket, carried);
  socket.setTimeout(timeouts.idleMs, () => socket.destroy());
  flow({ from: request, to: outgoing, meter, carried, way: 'up', onSpent });
  outgoing.once('socket', () => {
    socket.on('data', ({ length }) => void (meter.take(length) || onSpent()));
  });
  const late = AbortSignal.timeout(timeouts.headersMs);
  const onAbort = (): void => void socket.destroy();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    await relay(await answerTo(outgoing, AbortSignal.any([signal, late])), exchange, carried);
    return undefined;
  } catch {
    signal.throwIfAborted();
    if (carried.cut !== null) return failure(403, carried.cut);
    return late.aborted
      ? failure(504, 'the host did not answer in time')
      : failure(502, 'the host gave no valid answer');
  } finally {
    signal.removeEventListener('abort', onAbort);
    socket.destroy();
    countHead(exchange, carried);
  }
};
