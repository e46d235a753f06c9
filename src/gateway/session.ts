/**
 * The requests of one invocation: each is judged, its body checked, its answer relayed, and all of it counted. Nothing
 * that a client sends or a provider answers can make a request end otherwise than in an answer or a closed connection.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import type { Secrets } from '../secrets.ts';
import { errorBody, sendJson } from './answer.ts';
import { judgeBody } from './body-rules.ts';
import type { GatewayGrant, GatewayUse } from './gateway.ts';
import type { Provider } from './providers.ts';
import { discardBody, readBody } from './read-body.ts';
import { isStreamed, relayAnswer } from './relay.ts';
import { createRequestCaps, type RequestCaps } from './request-caps.ts';
import { type Forward, judgeRequest, type Refusal } from './rules.ts';
import { toUpstreamError, type Upstream, type UpstreamRequest } from './upstream.ts';
import { createUsageTap } from './usage-tap.ts';

export interface SessionParts {
  readonly grant: GatewayGrant;
  readonly provider: Provider;
  readonly upstream: Upstream;
  readonly secrets: Secrets;
  readonly logger: Logger;
}

export interface RequestSession {
  readonly firstModelRequest: Promise<number>;
  /** Settles when the request is over; never rejects. */
  handle(request: IncomingMessage, response: ServerResponse): Promise<void>;
  /** Counts a refusal that was given outside of `handle`. */
  noteRefusal(reason: string): void;
  use(): GatewayUse;
  /** Aborts what is under way and waits until it is over. Idempotent. */
  abort(): Promise<void>;
}

interface State extends SessionParts {
  readonly caps: RequestCaps;
  readonly live: Map<AbortController, Promise<void>>;
  readonly noteFirst: (nowMs: number) => void;
  closed: boolean;
  requests: number;
  refusals: number;
  inputTokens: number;
  outputTokens: number;
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly signal: AbortSignal;
}

/** A client can have itself refused thousands of times a second; the log must not grow with it. */
const LOGGED_REFUSALS_MAX = 50;

const noteRefusal = (state: State, reason: string): void => {
  state.refusals += 1;
  if (state.refusals > LOGGED_REFUSALS_MAX) return;
  state.logger.info({ reason: state.secrets.redact(reason) }, 'model request refused');
};

const refuse = async (
  state: State,
  exchange: Exchange,
  told: Refusal & { retryAfterSeconds?: number },
): Promise<void> => {
  noteRefusal(state, told.reason);
  await discardBody(exchange.request);
  const { status, reason, retryAfterSeconds } = told;
  sendJson(exchange.response, {
    status,
    body: errorBody(state.provider.api, status, state.secrets.redact(reason)),
    headers: {
      connection: 'close',
      ...(retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }),
    },
  });
};

const forward = async (state: State, exchange: Exchange, request: UpstreamRequest): Promise<void> => {
  state.requests += 1;
  state.noteFirst(Date.now());
  const answer = await state.upstream(request);
  const tap = createUsageTap(isStreamed(answer));
  const { response, signal } = exchange;
  try {
    await relayAnswer({ answer, response, api: state.provider.api, secrets: state.secrets, signal }, tap);
  } finally {
    const { inputTokens, outputTokens } = tap.usage();
    state.inputTokens += inputTokens;
    state.outputTokens += outputTokens;
  }
};

const checkAndForward = async (state: State, exchange: Exchange, verdict: Forward): Promise<void> => {
  const read = await readBody(exchange.request, state.grant.caps.bodyBytes);
  if (!read.allow) return refuse(state, exchange, read);
  const body = judgeBody({ endpoint: verdict.endpoint, bytes: read.bytes, scan: read.scan, grant: state.grant });
  if (!body.allow) return refuse(state, exchange, body);
  const { path, headers } = verdict;
  await forward(state, exchange, {
    path,
    headers,
    body: body.bytes,
    values: read.scan.values,
    signal: exchange.signal,
  });
};

/** A place is taken before the body is read: so the memory for bodies is bounded by the caps, too. */
const serve = async (state: State, exchange: Exchange): Promise<void> => {
  const { method = '', url = '', headers } = exchange.request;
  const verdict = judgeRequest({ method, target: url, headers }, state.provider);
  if (!verdict.allow) return refuse(state, exchange, verdict);
  const slot = state.caps.take(performance.now());
  if (!slot.allow) return refuse(state, exchange, { ...slot, status: 429 });
  try {
    await checkAndForward(state, exchange, verdict);
  } finally {
    slot.release();
  }
};

/** The container learns a status and a sentence; the operator's log learns why. */
const answerFailure = (state: State, exchange: Exchange, thrown: unknown): void => {
  if (exchange.signal.aborted) return;
  const error = toUpstreamError(thrown);
  const cause = error.cause instanceof Error ? error.cause.message : undefined;
  const detail = state.secrets.redact(`${error.message}${cause === undefined ? '' : `: ${cause}`}`).slice(0, 500);
  state.logger.warn({ provider: state.provider.name, status: error.status, detail }, 'model request failed');
  sendJson(exchange.response, {
    status: error.status,
    body: errorBody(state.provider.api, error.status, error.message),
  });
};

const run = async (state: State, exchange: Exchange): Promise<void> => {
  try {
    await serve(state, exchange);
  } catch (thrown) {
    answerFailure(state, exchange, thrown);
  }
};

const handle = async (state: State, request: IncomingMessage, response: ServerResponse): Promise<void> => {
  const controller = new AbortController();
  // Broken connections are ordinary here; they end the exchange through the abort below.
  request.on('error', () => undefined);
  response.on('error', () => undefined);
  response.once('close', () => controller.abort());
  if (state.closed) return void response.destroy();
  const done = run(state, { request, response, signal: controller.signal });
  state.live.set(controller, done);
  await done;
  state.live.delete(controller);
  // An answer of which something is left unread must not keep a connection to the provider.
  controller.abort();
};

const abortAll = async (state: State): Promise<void> => {
  state.closed = true;
  for (const controller of state.live.keys()) controller.abort();
  await Promise.all(state.live.values());
};

export const createRequestSession = (parts: SessionParts): RequestSession => {
  let resolveFirst: (nowMs: number) => void = () => undefined;
  const firstModelRequest = new Promise<number>((resolve) => {
    resolveFirst = resolve;
  });
  const state: State = {
    ...parts,
    caps: createRequestCaps(parts.grant.caps),
    live: new Map(),
    noteFirst: resolveFirst,
    closed: false,
    requests: 0,
    refusals: 0,
    inputTokens: 0,
    outputTokens: 0,
  };
  return {
    firstModelRequest,
    handle: (request, response) => handle(state, request, response),
    noteRefusal: (reason) => noteRefusal(state, reason),
    use: () => {
      const { requests, refusals, inputTokens, outputTokens } = state;
      return { requests, refusals, inputTokens, outputTokens };
    },
    abort: () => abortAll(state),
  };
};
