/**
 * Asks a provider for one token, as a turn would ask, and says what became of it. What the provider answers is quoted
 * without secrets; nothing is retried.
 */
import { Agent } from 'undici';
import { z } from 'zod';
import { isErrno } from '../errors.ts';
import type { Secrets } from '../secrets.ts';
import { cancelledBy } from './cancel.ts';
import type { HttpUpstream, ModelApi, Provider } from './providers.ts';
import { httpUpstream, type UpstreamAnswer, UpstreamError } from './upstream.ts';

export interface Preflight {
  readonly status: 'ok' | 'warn' | 'fail';
  readonly found: string;
  /** null where there is nothing to mend. */
  readonly hint: string | null;
}

/** A local server may have to load its model first; longer than this nobody waits for a doctor. */
const ANSWER_WITHIN_MS = 30_000;
const QUOTED_CHARS_MAX = 300;
const BODY_BYTES_MAX = 64 * 1024;

const PATHS: Readonly<Record<ModelApi, string>> = {
  anthropic: '/v1/messages',
  'openai-compatible': '/chat/completions',
};
const HEADERS: Readonly<Record<ModelApi, Readonly<Record<string, string>>>> = {
  anthropic: { 'anthropic-version': '2023-06-01' },
  'openai-compatible': {},
};

const ErrorBody = z.object({ error: z.union([z.string(), z.object({ message: z.string() })]) });

const readBounded = async (body: AsyncIterable<Uint8Array>): Promise<string> => {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > BODY_BYTES_MAX) break;
  }
  return Buffer.concat(chunks).toString('utf8');
};

/** The provider's own sentence, where its answer has one. */
const sentenceOf = (body: string): string => {
  try {
    const { error } = ErrorBody.parse(JSON.parse(body));
    return typeof error === 'string' ? error : error.message;
  } catch {
    return body; // A proxy's page, for one: its beginning says more than nothing.
  }
};

interface Verdict {
  readonly status: Preflight['status'];
  readonly says: string;
  readonly hint: string;
}

const BUSY: Verdict = { status: 'warn', says: 'is busy or over its limit', hint: 'wait, or raise the account’s limit' };
const UNPAID = /credit|billing|quota|balance/i;

/** What a status that isn't success means to an operator. */
const verdictOf = (status: number, sentence: string, name: string): Verdict => {
  const key = `check the secret in .env that providers.${name} names, then: tierclaw doctor`;
  if (status === 401 || status === 403) return { status: 'fail', says: 'refuses the key', hint: key };
  if (status === 402 || UNPAID.test(sentence)) {
    return { status: 'fail', says: 'wants to be paid', hint: 'look at the account’s billing page' };
  }
  if (status === 404) {
    const hint = `check models and baseUrl of providers.${name} in tierclaw.yaml`;
    return { status: 'fail', says: 'doesn’t know the model or the path', hint };
  }
  if (status === 429) return BUSY;
  if (status >= 500) return { status: 'warn', says: 'is in trouble', hint: 'wait; turns are tried again meanwhile' };
  if (status >= 300 && status < 400) {
    const hint = `give the final address as baseUrl of providers.${name}; redirects are never followed`;
    return { status: 'fail', says: 'sends elsewhere', hint };
  }
  return { status: 'warn', says: 'answers, but refuses a tiny request', hint: `check models of providers.${name}` };
};

/** It answers; but without a price the gateway itself refuses every group whose money is capped. */
const answering = ({ name, models, priceOf }: Provider): Preflight => {
  const model = models[0] ?? '';
  const found = `${name} answers as ${model}`;
  if (priceOf(model) !== null) return { status: 'ok', found, hint: null };
  const hint = `set prices."${name}/${model}" in tierclaw.yaml; { input: 0, output: 0 } where it costs nothing`;
  return {
    status: 'warn',
    found: `${found}, but what that costs is not known: chats with a cap on money are refused`,
    hint,
  };
};

const judge = async (answer: UpstreamAnswer, provider: Provider, secrets: Secrets): Promise<Preflight> => {
  const body = await readBounded(answer.body);
  if (answer.status >= 200 && answer.status < 300) return answering(provider);
  const sentence = secrets.redact(sentenceOf(body)).replace(/\s+/g, ' ').trim();
  const { status, says, hint } = verdictOf(answer.status, sentence, provider.name);
  const quoted = sentence === '' ? '' : `: ${sentence.slice(0, QUOTED_CHARS_MAX)}`;
  return { status, found: `${provider.name} ${says} (${answer.status})${quoted}`, hint };
};

const codeOf = (thrown: unknown): string => {
  const cause = thrown instanceof UpstreamError ? thrown.cause : thrown;
  if (isErrno(cause, 'ABORT_ERR') || (cause instanceof Error && cause.name === 'TimeoutError')) return 'no answer';
  return cause instanceof Error && 'code' in cause ? String(cause.code) : 'no usable answer';
};

const unreachable = (thrown: unknown, provider: Provider, origin: string): Preflight => {
  const code = codeOf(thrown);
  const isSlow = code === 'no answer' || (thrown instanceof UpstreamError && thrown.status === 504);
  return {
    status: isSlow ? 'warn' : 'fail',
    found: isSlow
      ? `${provider.name} did not answer within ${ANSWER_WITHIN_MS / 1000} s at ${origin}`
      : `${provider.name} can’t be reached at ${origin} (${code})`,
    hint: `check that it runs and that baseUrl of providers.${provider.name} is right: curl -sS ${origin}`,
  };
};

const ask = (provider: Provider, upstream: HttpUpstream, dispatcher: Agent): Promise<UpstreamAnswer> => {
  const timeouts = { headersMs: ANSWER_WITHIN_MS, idleMs: ANSWER_WITHIN_MS };
  const body = { model: provider.models[0], max_tokens: 1, messages: [{ role: 'user', content: 'ping' }] };
  return httpUpstream(
    upstream.origin,
    dispatcher,
    timeouts,
  )({
    path: `${upstream.basePath}${PATHS[provider.api]}`,
    headers: { 'content-type': 'application/json', ...HEADERS[provider.api], ...provider.authHeaders() },
    body: Buffer.from(JSON.stringify(body)),
    values: 0,
    cancel: cancelledBy(AbortSignal.timeout(ANSWER_WITHIN_MS)),
  });
};

/** Throws AppError `config` alone, where the provider's secret is missing or can't be sent. */
export const preflight = async (provider: Provider, secrets: Secrets): Promise<Preflight> => {
  const { upstream } = provider;
  if (upstream.kind === 'rehearsal') {
    return { status: 'ok', found: `${provider.name}: the built-in stand-in, no account and no network`, hint: null };
  }
  provider.authHeaders();
  const dispatcher = new Agent();
  try {
    return await judge(await ask(provider, upstream, dispatcher), provider, secrets);
  } catch (thrown) {
    return unreachable(thrown, provider, upstream.origin);
  } finally {
    await dispatcher.destroy();
  }
};
