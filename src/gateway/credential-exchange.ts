/**
 * One exchange with a credential's API: the body streams out, the answer streams back, both bounded. Invariants: the
 * request goes to the base URL's host and nowhere else; no redirect is followed; no secret is handed back.
 */
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import type { Secrets } from '../secrets.ts';
import { type CredentialForward, credentialAnswerHeaders } from './credential-rules.ts';
import { isPlain, type UpstreamAnswer, UpstreamError } from './upstream.ts';

export interface CredentialExchange {
  readonly forward: CredentialForward;
  /** The credential's own header. */
  readonly auth: Readonly<Record<string, string>>;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly secrets: Secrets;
  readonly dispatcher: Dispatcher;
  /** Aborted when the client is gone or the session closes. */
  readonly signal: AbortSignal;
}

/** A client that takes nothing for so long is cut off. */
const STALLED_CLIENT_MS = 120_000;

/** The body was longer than the route allows. */
export class BodyTooLarge extends Error {}

const countedBody = async function* (request: IncomingMessage, bytesMax: number, count: { sent: number }) {
  // Leaving the loop must not destroy the request: its socket carries the answer.
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    const bytes = chunk as Buffer;
    count.sent += bytes.length;
    if (count.sent > bytesMax) throw new BodyTooLarge(`the body is larger than this route takes (${bytesMax} bytes)`);
    yield bytes;
  }
};

const lengthHeader = ({ headers }: IncomingMessage): Record<string, string> =>
  headers['content-length'] === undefined ? {} : { 'content-length': headers['content-length'] };

const ask = async (exchange: CredentialExchange, count: { sent: number }): Promise<UpstreamAnswer> => {
  const { forward, auth, request, dispatcher, signal } = exchange;
  const { caps, baseUrl } = forward.route;
  const answer = await dispatcher.request({
    origin: new URL(baseUrl).origin,
    path: forward.path,
    method: forward.method,
    headers: { ...forward.headers, ...(forward.hasBody ? lengthHeader(request) : {}), ...auth },
    body: forward.hasBody ? Readable.from(countedBody(request, caps.bodyBytes, count), { objectMode: false }) : null,
    signal,
    headersTimeout: caps.idleMs,
    bodyTimeout: caps.idleMs,
  });
  // An answer that nobody reads to its end is destroyed with an error; without a listener that ends the process.
  answer.body.on('error', () => undefined);
  return { status: answer.statusCode, headers: answer.headers, body: answer.body };
};

const drained = async (response: ServerResponse, signal: AbortSignal): Promise<void> => {
  const stalled = setTimeout(() => response.destroy(), STALLED_CLIENT_MS);
  try {
    await once(response, 'drain', { signal });
  } finally {
    clearTimeout(stalled);
  }
};

const checkAnswer = (answer: UpstreamAnswer): void => {
  if (!isPlain(answer)) throw new UpstreamError(502, 'the API compressed its answer unasked');
};

const begin = ({ response, forward, secrets }: CredentialExchange, answer: UpstreamAnswer): void => {
  const headers = Object.entries(credentialAnswerHeaders(answer.headers, forward));
  const clean = headers.map(([name, value]) => [name, secrets.redact(value)]);
  response.writeHead(answer.status, Object.fromEntries(clean));
  response.flushHeaders();
};

const pump = async (
  exchange: CredentialExchange,
  answer: UpstreamAnswer,
  count: { received: number },
): Promise<void> => {
  const { response, secrets, signal, forward } = exchange;
  const filter = secrets.filter();
  for await (const chunk of answer.body) {
    count.received += chunk.length;
    if (count.received > forward.route.caps.answerBytes) throw new UpstreamError(502, 'the API’s answer is too large');
    const clean = filter.push(chunk);
    if (clean.length > 0 && !response.write(clean)) await drained(response, signal);
  }
  response.end(filter.end());
};

/**
 * Resolves when the answer has been handed over. Throws UpstreamError, BodyTooLarge, or what the connection failed with;
 * an answer that had begun is broken off, so that the client notices. `seen` holds what is known then.
 */
export const exchangeCredential = async (
  exchange: CredentialExchange,
  seen: { status: number; sent: number; received: number },
): Promise<void> => {
  const answer = await ask(exchange, seen);
  seen.status = answer.status;
  checkAnswer(answer);
  begin(exchange, answer);
  try {
    await pump(exchange, answer, seen);
  } catch (thrown) {
    exchange.response.destroy();
    throw thrown;
  }
};
