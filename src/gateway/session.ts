/**
 * The requests of one invocation: each is judged, answered, and counted. Nothing that a client sends or a provider
 * answers can make a request end otherwise than in an answer or a closed connection.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import { errorBody, sendJson } from './answer.ts';
import type { Course } from './budget-settle.ts';
import { type Canceller, createCancel } from './cancel.ts';
import { checkAndForward, type Exchange, type ExchangeParts, type ToldRefusal } from './exchange.ts';
import type { GatewayUse } from './gateway.ts';
import { discardBody } from './read-body.ts';
import type { Places } from './request-caps.ts';
import { judgeRequest } from './rules.ts';
import { toUpstreamError } from './upstream.ts';

export interface SessionParts extends Omit<ExchangeParts, 'onForward' | 'onCourse'> {
  /** Shared by all invocations. */
  readonly places: Places;
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

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

interface State extends SessionParts, ExchangeParts {
  readonly live: Map<Canceller, Promise<void>>;
  readonly count: Mutable<GatewayUse>;
  closed: boolean;
}

/** A client can have itself refused thousands of times a second; the log must not grow with it. */
const LOGGED_REFUSALS_MAX = 50;

const noteRefusal = (state: State, reason: string): void => {
  state.count.refusals += 1;
  if (state.count.refusals > LOGGED_REFUSALS_MAX) return;
  state.logger.info({ reason: state.secrets.redact(reason) }, 'model request refused');
};

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
  state.count.refused = { status, cap: cap ?? null };
  await discardBody(exchange.request);
  sendJson(exchange.response, {
    status,
    body: errorBody(state.provider.api, status, state.secrets.redact(reason)),
    headers: { connection: 'close', ...retryHeaders(retryAfterSeconds) },
  });
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
const answerFailure = (state: State, { response, cancel }: Exchange, thrown: unknown): void => {
  if (cancel.isCancelled()) return;
  const error = toUpstreamError(thrown);
  const cause = error.cause instanceof Error ? error.cause.message : undefined;
  const detail = state.secrets.redact(`${error.message}${cause === undefined ? '' : `: ${cause}`}`).slice(0, 500);
  state.logger.warn({ provider: state.provider.name, status: error.status, detail }, 'model request failed');
  sendJson(response, {
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
  const cancel = createCancel();
  // Broken connections are ordinary here; they end the exchange through the cancelling below.
  request.on('error', () => undefined);
  response.on('error', () => undefined);
  response.once('close', cancel.cancel);
  if (state.closed) return void response.destroy();
  const done = run(state, { request, response, cancel });
  state.live.set(cancel, done);
  await done;
  state.live.delete(cancel);
  // An answer of which something is left unread must not keep a connection to the provider.
  cancel.cancel();
};

const abortAll = async (state: State): Promise<void> => {
  state.closed = true;
  for (const cancel of state.live.keys()) cancel.cancel();
  await Promise.all(state.live.values());
};

const noteCourse = (count: State['count'], { answer }: Course): void => {
  count.inputTokens += answer?.usage.inputTokens ?? 0;
  count.outputTokens += answer?.usage.outputTokens ?? 0;
  // What went wrong last is not of our making any more.
  if (answer === null || answer.status >= 300) count.refused = null;
};

export const createRequestSession = (parts: SessionParts): RequestSession => {
  let resolveFirst: (nowMs: number) => void = () => undefined;
  const firstModelRequest = new Promise<number>((resolve) => {
    resolveFirst = resolve;
  });
  const count: State['count'] = { requests: 0, refusals: 0, inputTokens: 0, outputTokens: 0, refused: null };
  const onForward = (): void => {
    count.requests += 1;
    resolveFirst(Date.now());
  };
  const onCourse = (course: Course): void => noteCourse(count, course);
  const state: State = { ...parts, onForward, onCourse, live: new Map(), count, closed: false };
  return {
    firstModelRequest,
    handle: (request, response) => handle(state, request, response),
    noteRefusal: (reason) => noteRefusal(state, reason),
    use: () => ({ ...count }),
    abort: () => abortAll(state),
  };
};
