/**
 * One request that has a place: its body is read and judged, its cost reserved, its answer relayed and settled. Nothing
 * goes out before all of it has been checked and what it may use has been counted.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Secrets } from '../secrets.ts';
import { judgeBody } from './body-rules.ts';
import { type Budget, type BudgetAsk, estimateTokens, type Reservation } from './budget.ts';
import { type Course, settlementOf } from './budget-settle.ts';
import type { Cancel } from './cancel.ts';
import type { GatewayGrant, ModelCap } from './gateway.ts';
import type { Provider } from './providers.ts';
import { readBody } from './read-body.ts';
import { isStreamed, relayAnswer } from './relay.ts';
import type { Forward, Refusal } from './rules.ts';
import type { Upstream, UpstreamRequest } from './upstream.ts';
import { createUsageTap, type UsageTap } from './usage-tap.ts';

export interface ExchangeParts {
  readonly grant: GatewayGrant;
  readonly provider: Provider;
  readonly upstream: Upstream;
  /** Shared by all invocations. */
  readonly budget: Budget;
  readonly secrets: Secrets;
  readonly answerBytesMax: number;
  /** Told of each request that goes out. */
  readonly onForward: () => void;
  /** Told what came of it. */
  readonly onCourse: (course: Course) => void;
}

export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly cancel: Cancel;
}

export type ToldRefusal = Refusal & { readonly retryAfterSeconds?: number; readonly cap?: ModelCap };

/** A checked request whose cost is reserved. */
interface Paid {
  readonly request: UpstreamRequest;
  readonly reservation: Reservation;
  readonly outputMax: number;
}

const forward = async (parts: ExchangeParts, { response, cancel }: Exchange, paid: Paid): Promise<void> => {
  const { upstream, provider, secrets, answerBytesMax } = parts;
  parts.onForward();
  const sentAtMs = performance.now();
  const seen: { answer: { status: number; tap: UsageTap } | null; error: unknown } = { answer: null, error: null };
  try {
    const answer = await upstream(paid.request);
    const tap = createUsageTap(isStreamed(answer));
    seen.answer = { status: answer.status, tap };
    await relayAnswer({ answer, response, api: provider.api, secrets, answerBytesMax, cancel }, tap);
  } catch (thrown) {
    seen.error = thrown;
    throw thrown;
  } finally {
    const course: Course = {
      answer: seen.answer === null ? null : { status: seen.answer.status, usage: seen.answer.tap.usage() },
      error: seen.error,
      isAbandoned: cancel.isCancelled(),
      lastedMs: performance.now() - sentAtMs,
      outputMax: paid.outputMax,
    };
    paid.reservation.settle(settlementOf(course));
    parts.onCourse(course);
  }
};

/** Gives a refusal, or undefined when the request has gone its way. Rejects as the client or the provider fails. */
export const checkAndForward = async (
  parts: ExchangeParts,
  exchange: Exchange,
  { endpoint, path, headers }: Forward,
): Promise<ToldRefusal | undefined> => {
  const { grant, provider, budget } = parts;
  const { request, cancel } = exchange;
  const read = await readBody(request, grant.caps.bodyBytes);
  if (!read.allow) return read;
  const body = judgeBody({ endpoint, bytes: read.bytes, scan: read.scan, grant });
  if (!body.allow) return body;
  // Whoever has gone already gets nothing, and pays nothing.
  if (cancel.isCancelled()) return undefined;
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
  const paid = { path, headers, body: body.bytes, values: read.scan.values, cancel };
  await forward(parts, exchange, { request: paid, reservation, outputMax: body.maxTokens });
  return undefined;
};
