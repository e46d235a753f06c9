/**
 * `/cred/<name>/…` of one invocation: each request is judged, put on record, given its credential, and carried. Nothing
 * a client sends or an API answers can make a request end otherwise than in an answer or a closed connection.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import { Agent, type Dispatcher } from 'undici';
import type { Audit } from '../audit.ts';
import type { Secrets } from '../secrets.ts';
import { errorBody, sendJson } from './answer.ts';
import { type CredentialPlaces, createCredentialPlaces } from './credential-caps.ts';
import { BodyTooLarge, exchangeCredential } from './credential-exchange.ts';
import { credentialHeader } from './credential-header.ts';
import { type CredentialRecord, createCredentialRecord } from './credential-record.ts';
import { type CredentialForward, judgeCredentialRequest } from './credential-rules.ts';
import type { GatewayGrant } from './gateway.ts';
import { discardBody } from './read-body.ts';
import type { Route } from './router.ts';
import { type Refusal, refusal } from './rules.ts';
import { toUpstreamError } from './upstream.ts';

export interface CredentialOptions {
  readonly secrets: Secrets;
  readonly audit: Pick<Audit, 'record'>;
  readonly logger: Logger;
  /** Carries the requests; default: an Agent of its own. It must not follow redirects. */
  readonly dispatcher?: Dispatcher;
}

export interface CredentialGateway {
  /** One invocation's `/cred/…`. */
  open(grant: GatewayGrant): Route;
  /** Ends the connections that are left. Idempotent. */
  close(): Promise<void>;
}

interface State extends Omit<CredentialOptions, 'dispatcher'> {
  readonly dispatcher: Dispatcher;
  readonly places: CredentialPlaces;
  readonly grant: GatewayGrant;
  readonly record: CredentialRecord;
  readonly live: Map<AbortController, Promise<void>>;
  closed: boolean;
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly signal: AbortSignal;
}

type ToldRefusal = Refusal & { readonly retryAfterSeconds?: number };

const OVER = new Error('the exchange is over');

const refuse = async (state: State, { request, response }: Exchange, told: ToldRefusal): Promise<void> => {
  const reason = state.secrets.redact(told.reason);
  state.record.refused(state.secrets.redact(request.url ?? ''), told.status, reason);
  await discardBody(request);
  const wait: Record<string, string> =
    told.retryAfterSeconds === undefined ? {} : { 'retry-after': String(told.retryAfterSeconds) };
  sendJson(response, {
    status: told.status,
    body: errorBody('openai-compatible', told.status, reason),
    headers: { connection: 'close', ...wait },
  });
};

/** The credential's header, or why the request can't be made: for the operator in full, for the chat in a word. */
const authorize = (state: State, forward: CredentialForward): Readonly<Record<string, string>> | Refusal => {
  const header = credentialHeader(forward.route, state.secrets);
  if (header.ok) return header.headers;
  state.logger.error({ credential: forward.route.name }, `${header.problem}; see: tierclaw secrets check`);
  return refusal(503, `the operator has not set up the secret of /cred/${forward.route.name}`);
};

const openRecord = ({ record, logger }: State, forward: CredentialForward): Refusal | undefined => {
  try {
    record.opening(forward);
    return undefined;
  } catch (err) {
    logger.error({ err }, 'a use of a credential can’t be put on record; it is not sent');
    return refusal(503, 'uses of credentials can’t be put on record now');
  }
};

/** The container learns a status and a sentence; the operator's log learns why. */
const failureOf = (state: State, forward: CredentialForward, thrown: unknown): { refusal: Refusal; cause: string } => {
  const tooLarge = [thrown, thrown instanceof Error ? thrown.cause : undefined].find(
    (one) => one instanceof BodyTooLarge,
  );
  if (tooLarge !== undefined) return { refusal: refusal(413, tooLarge.message), cause: 'body-too-large' };
  const error = toUpstreamError(thrown);
  const cause = error.cause instanceof Error ? error.cause.message : error.message;
  const detail = state.secrets.redact(cause).slice(0, 500);
  const { name } = forward.route;
  state.logger.warn({ credential: name, status: error.status, detail }, 'credential request failed');
  const told = error.cause === undefined ? error.message : sentenceFor(error.status, name);
  return { refusal: refusal(error.status, told), cause: detail };
};

const sentenceFor = (status: 502 | 504, name: string): string =>
  status === 504
    ? `the API behind /cred/${name} did not answer in time`
    : `the API behind /cred/${name} can’t be reached or gave no usable answer`;

const carry = async (state: State, exchange: Exchange, allowed: Allowed): Promise<void> => {
  const { forward } = allowed;
  const { secrets, dispatcher, record } = state;
  const seen = { status: 0, sent: 0, received: 0 };
  const startedAt = performance.now();
  let broken: string | null = null;
  try {
    await exchangeCredential({ ...allowed, ...exchange, secrets, dispatcher }, seen);
  } catch (thrown) {
    const isOurs = exchange.signal.aborted;
    const failure = isOurs ? { refusal: null, cause: 'the client is gone' } : failureOf(state, forward, thrown);
    broken = failure.cause;
    if (failure.refusal !== null) await answerFailure(exchange, failure.refusal);
  } finally {
    const ms = Math.round(performance.now() - startedAt);
    record.used(forward, { status: seen.status, up: seen.sent, down: seen.received, ms, broken });
  }
};

const answerFailure = async ({ request, response }: Exchange, { status, reason }: Refusal): Promise<void> => {
  await discardBody(request);
  const body = errorBody('openai-compatible', status, reason);
  sendJson(response, { status, body, headers: { connection: 'close' } });
};

/** A judged request and its credential's header. */
interface Allowed {
  readonly forward: CredentialForward;
  readonly auth: Readonly<Record<string, string>>;
}

const isRefusal = (one: Readonly<Record<string, string>> | Refusal): one is Refusal => one.allow === false;

const serve = async (state: State, exchange: Exchange): Promise<void> => {
  const { method = '', url = '', headers } = exchange.request;
  const { group, credentials } = state.grant;
  const forward = judgeCredentialRequest({ method, target: url, headers }, credentials);
  if (!forward.allow) return refuse(state, exchange, forward);
  const { name, caps } = forward.route;
  if (Number(headers['content-length'] ?? 0) > caps.bodyBytes) {
    return refuse(state, exchange, refusal(413, `the body is larger than this route takes (${caps.bodyBytes} bytes)`));
  }
  const auth = authorize(state, forward);
  if (isRefusal(auth)) return refuse(state, exchange, auth);
  const place = state.places.take({ group, route: name, caps, nowMs: performance.now() });
  if (!place.allow) return refuse(state, exchange, place);
  try {
    const unrecorded = openRecord(state, forward);
    if (unrecorded !== undefined) return await refuse(state, exchange, unrecorded);
    await carry(state, exchange, { forward, auth });
  } finally {
    place.leave();
  }
};

const run = async (state: State, exchange: Exchange): Promise<void> => {
  try {
    await serve(state, exchange);
  } catch (err) {
    if (!exchange.signal.aborted) state.logger.error({ err }, 'a credential request broke');
    exchange.response.destroy();
  }
};

const handle = async (state: State, request: IncomingMessage, response: ServerResponse): Promise<void> => {
  const controller = new AbortController();
  // Broken connections are ordinary here; they end the exchange through the abort below.
  request.on('error', () => undefined);
  response.on('error', () => undefined);
  response.once('close', () => controller.abort(OVER));
  if (state.closed) return void response.destroy();
  const done = run(state, { request, response, signal: controller.signal });
  state.live.set(controller, done);
  await done;
  state.live.delete(controller);
  // An answer of which something is left unread must not keep a connection to the API.
  controller.abort(OVER);
};

const abortAll = async (state: State): Promise<void> => {
  if (state.closed) return;
  state.closed = true;
  for (const controller of state.live.keys()) controller.abort(OVER);
  await Promise.all(state.live.values());
  state.record.close();
};

/** The credential routes of one supervisor; what a group may use at once is counted over all of its turns. */
export const createCredentialGateway = (options: CredentialOptions): CredentialGateway => {
  const own = new Agent({ connect: { timeout: 10_000 } });
  const dispatcher = options.dispatcher ?? own;
  const places = createCredentialPlaces();
  return {
    open: (grant) => {
      const record = createCredentialRecord({ ...options, grant });
      const state: State = { ...options, dispatcher, places, grant, record, live: new Map(), closed: false };
      return {
        handle: (request, response) => handle(state, request, response),
        noteRefusal: (reason) => record.refused('', 400, reason),
        abort: () => abortAll(state),
      };
    },
    close: () => own.destroy(),
  };
};
