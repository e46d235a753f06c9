/**
 * The requests of one invocation: each is judged, its body checked, its answer relayed, and all of it counted. Nothing
 * that a client sends or a provider answers can make a request end otherwise than in an answer or a closed connection.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import type { Secrets } from '../secrets.ts';
import { errorBody, sendJson } from './answer.ts';
import { judgeBody } from './body-rules.ts';
import { type Budget, type BudgetAsk, estimateTokens, type Reservation } from './budget.ts';
import { type Course, settlementOf } from './budget-settle.ts';
import type { GatewayGrant, GatewayUse, ModelCap } from './gateway.ts';
import type { Provider } from './providers.ts';
import { discardBody, readBody } from './read-body.ts';
import { isStreamed, relayAnswer } from './relay.ts';
import type { Places } from './request-caps.ts';
import { type Forward, judgeRequest, type Refusal } from './rules.ts';
import { toUpstreamError, type Upstream, type UpstreamRequest } from './upstream.ts';
import { createUsageTap, type UsageTap } from './usage-tap.ts';

export interface SessionParts {
  readonly grant: GatewayGrant;
  readonly provider: Provider;
  readonly upstream: Upstream;
  /** Both are shared by all invocations. */
  readonly places: Places;
  readonly budget: Budget;
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
  readonly live: Map<AbortController, Promise<void>>;
  readonly noteFirst: (nowMs: number) => void;
  closed: boolean;
  requests: number;
  refusals: number;
  inputTokens: number;
  outputTokens: number;
  capped: ModelCap | null;
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly signal: AbortSignal;
}

const OVER = new Error('the exchange is over'); // One for all: the default is made anew each time, with its stack.

/** A client can have itself refused thousands of times a second; the log must not grow with it. */
const LOGGED_REFUSALS_MAX = 50;

const noteRefusal = (state: State, reason: string): void => {
  state.refusals += 1;
  if (state.refusals > LOGGED_REFUSALS_MAX) return;
  state.logger.info({ reason: state.secrets.redact(reason) }, 'model request refused');
};

type ToldRefusal = Refusal & { readonly retryAfterSeconds?: number; readonly cap?: ModelCap };

/** The client libraries wait so long at most; told a longer time, they would come back after seconds. */
const WAITED_FOR_SECONDS_MAX = 60;

const retryHeaders = (seconds: number | undefined): Readonly<Record<string, string>> => {
  if (seconds === undefined) return {};
  return {
    'retry-after': String(seconds),
    ...(seconds > WAITED_FOR_SECONDS_MAX ? { 'x-should-retry': 'false' } : {}),
  };
};

const refuse = async (state: State, exchange: Exchange, told: ToldRefusal): Promise<void> => {
  const { status, reason, retryAfterSeconds, cap } = told;
  noteRefusal(state, reason);
  if (cap !== undefined) state.capped = cap;
  await discardBody(exchange.request);
  sendJson(exchange.response, {
    status,
    body: errorBody(state.provider.api, status, state.secrets.redact(reason)),
    headers: { connection: 'close', ...retryHeaders(retryAfterSeconds) },
  });
};

/** A checked request whose cost is reserved. */
interface Paid {
  readonly request: UpstreamRequest;
  readonly reservation: Reservation;
  readonly outputMax: number;
}

const settle = (state: State, { reservation }: Paid, course: Course): void => {
  state.inputTokens += course.answer?.usage.inputTokens ?? 0;
  state.outputTokens += course.answer?.usage.outputTokens ?? 0;
  reservation.settle(settlementOf(course));
};

const forward = async (state: State, { response, signal }: Exchange, paid: Paid): Promise<void> => {
  state.requests += 1;
  state.noteFirst(Date.now());
  const sentAtMs = performance.now();
  const seen: { answer: { status: number; tap: UsageTap } | null; error: unknown } = { answer: null, error: null };
  try {
    const answer = await state.upstream(paid.request);
    const tap = createUsageTap(isStreamed(answer));
    seen.answer = { status: answer.status, tap };
    await relayAnswer({ answer, response, api: state.provider.api, secrets: state.secrets, signal }, tap);
  } catch (thrown) {
    seen.error = thrown;
    throw thrown;
  } finally {
    settle(state, paid, {
      answer: seen.answer === null ? null : { status: seen.answer.status, usage: seen.answer.tap.usage() },
      error: seen.error,
      isAbandoned: signal.aborted,
      lastedMs: performance.now() - sentAtMs,
      outputMax: paid.outputMax,
    });
  }
};

/** Gives a refusal, or undefined when the request has gone its way. */
const checkAndForward = async (
  state: State,
  exchange: Exchange,
  verdict: Forward,
): Promise<ToldRefusal | undefined> => {
  const { grant, provider, budget } = state;
  const { endpoint, path, headers } = verdict;
  const read = await readBody(exchange.request, grant.caps.bodyBytes);
  if (!read.allow) return read;
  const body = judgeBody({ endpoint, bytes: read.bytes, scan: read.scan, grant });
  if (!body.allow) return body;
  // Whoever has gone already gets nothing, and pays nothing.
  exchange.signal.throwIfAborted();
  const ask: BudgetAsk = {
    group: grant.group,
    caps: grant.caps,
    provider: provider.name,
    model: body.model,
    price: provider.priceOf(body.model),
    // Counting tokens is free at the provider.
    inputTokens: endpoint === 'count-tokens' ? 0 : estimateTokens(body.bytes.length),
    outputTokens: body.maxTokens,
  };
  const reservation = budget.reserve(ask);
  if (!reservation.allow) return reservation;
  const request = { path, headers, body: body.bytes, values: read.scan.values, signal: exchange.signal };
  await forward(state, exchange, { request, reservation, outputMax: body.maxTokens });
  return undefined;
};

/** A place is taken before the body is read: so the memory for bodies is bounded by the caps, too. */
const serve = async (state: State, exchange: Exchange): Promise<void> => {
  const { method = '', url = '', headers } = exchange.request;
  const { group, caps } = state.grant;
  const verdict = judgeRequest({ method, target: url, headers }, state.provider);
  if (!verdict.allow) return refuse(state, exchange, verdict);
  const place = state.places.take({ group, concurrent: caps.concurrent, nowMs: performance.now() });
  if (!place.allow) return refuse(state, exchange, place);
  try {
    const refusal = await checkAndForward(state, exchange, verdict);
    if (refusal === undefined) return;
    place.noteRefused(performance.now());
    await refuse(state, exchange, refusal);
  } finally {
    place.leave();
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
  response.once('close', () => controller.abort(OVER));
  if (state.closed) return void response.destroy();
  const done = run(state, { request, response, signal: controller.signal });
  state.live.set(controller, done);
  await done;
  state.live.delete(controller);
  // An answer of which something is left unread must not keep a connection to the provider.
  controller.abort(OVER);
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
    live: new Map(),
    noteFirst: resolveFirst,
    closed: false,
    requests: 0,
    refusals: 0,
    inputTokens: 0,
    outputTokens: 0,
    capped: null,
  };
  return {
    firstModelRequest,
    handle: (request, response) => handle(state, request, response),
    noteRefusal: (reason) => noteRefusal(state, reason),
    use: () => {
      const { requests, refusals, inputTokens, outputTokens, capped } = state;
      return { requests, refusals, inputTokens, outputTokens, capped };
    },
    abort: () => abortAll(state),
  };
};
