/**
 * The rehearsal provider: an embedded stand-in that speaks the Messages API inside the gateway, with no port, no
 * account and no network. The same conversation always gets the same answer.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { z } from 'zod';
import { errorBody } from './answer.ts';
import {
  API_VERSIONS,
  CountRequest,
  conversationProblem,
  joinNeighbours,
  MessagesRequest,
  versionProblem,
} from './rehearsal-request.ts';
import { type Performance, perform } from './rehearsal-script.ts';
import {
  blockStart,
  blockStop,
  countTokens,
  eventText,
  type Message,
  messageEnd,
  messageEvents,
  messageJson,
  messageStart,
  textDelta,
  toMessage,
} from './rehearsal-stream.ts';
import type { Upstream, UpstreamAnswer, UpstreamRequest } from './upstream.ts';

/** It is parsed on the loop that serves all chats: so many bytes and values, all of them wrong, take some 50 ms. */
const BODY_BYTES_MAX = 1024 * 1024;
const BODY_VALUES_MAX = 20_000;
const WORD_MS = 200;

const ID_HEADER = { 'request-id': 'req_rehearsal' };

const oneChunk = async function* (text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
};

const json = (status: number, text: string): UpstreamAnswer => ({
  status,
  headers: { 'content-type': 'application/json', ...ID_HEADER },
  body: oneChunk(text),
});

const fail = (status: number, message: string): UpstreamAnswer => json(status, errorBody('anthropic', status, message));

const stream = (body: AsyncIterable<Uint8Array>): UpstreamAnswer => ({
  status: 200,
  headers: { 'content-type': 'text/event-stream; charset=utf-8', ...ID_HEADER },
  body,
});

const versionOf = ({ headers }: UpstreamRequest): string => headers['anthropic-version'] ?? '';

const describe = (error: z.ZodError): string => {
  const [issue] = error.issues;
  return `${issue?.path.map(String).join('.') || 'body'}: ${issue?.message ?? 'invalid'}`;
};

type Parsed<T> = { readonly value: T } | { readonly problem: UpstreamAnswer };

const parseBody = <T>({ body, values }: UpstreamRequest, schema: z.ZodType<T>): Parsed<T> => {
  if (body.length > BODY_BYTES_MAX || values > BODY_VALUES_MAX) {
    return { problem: fail(413, 'the rehearsal model takes no conversation as large as this') };
  }
  try {
    const parsed = schema.safeParse(JSON.parse(body.toString('utf8')));
    return parsed.success ? { value: parsed.data } : { problem: fail(400, describe(parsed.error)) };
  } catch {
    // JSON.parse's own message quotes the text; the client needs only the fact.
    return { problem: fail(400, 'the body isn’t valid JSON') };
  }
};

const slowEvents = async function* (message: Message, words: readonly string[], signal: AbortSignal) {
  const block = { type: 'text', text: '' } as const;
  const events = [messageStart(message), blockStart(block, 0)];
  yield Buffer.from(events.map(eventText).join(''));
  for (const word of words) {
    await sleep(WORD_MS, undefined, { signal });
    yield Buffer.from(eventText(textDelta(word, 0)));
  }
  yield Buffer.from([blockStop(0), ...messageEnd(message)].map(eventText).join(''));
};

const wholeEvents = async function* (message: Message): AsyncGenerator<Uint8Array> {
  for (const event of messageEvents(message)) yield Buffer.from(eventText(event));
};

type Slow = Extract<Performance, { kind: 'slow' }>;

const answerSlowly = async (
  request: MessagesRequest,
  { seconds }: Slow,
  signal: AbortSignal,
): Promise<UpstreamAnswer> => {
  const words = Array.from({ length: Math.ceil((seconds * 1000) / WORD_MS) }, (_, index) => `word${index + 1} `);
  const message = toMessage(request, [{ type: 'text', text: words.join('') || 'done' }]);
  if (request.stream === true) return stream(slowEvents(message, words, signal));
  await sleep(seconds * 1000, undefined, { signal });
  return json(200, messageJson(message));
};

const answerMessages = async (exchange: UpstreamRequest): Promise<UpstreamAnswer> => {
  const parsed = parseBody(exchange, MessagesRequest);
  if ('problem' in parsed) return parsed.problem;
  const request = { ...parsed.value, messages: joinNeighbours(parsed.value.messages) };
  const problem = versionProblem(request, versionOf(exchange)) ?? conversationProblem(request.messages);
  if (problem !== undefined) return fail(400, problem);
  const next = perform(request);
  if (next.kind === 'fail') return fail(next.status, `the rehearsal model was told to fail with ${next.status}`);
  if (next.kind === 'slow') return answerSlowly(request, next, exchange.cancel.signal());
  const message = toMessage(request, next.content);
  return request.stream === true ? stream(wholeEvents(message)) : json(200, messageJson(message));
};

const answerCount = (exchange: UpstreamRequest): UpstreamAnswer => {
  const parsed = parseBody(exchange, CountRequest);
  if ('problem' in parsed) return parsed.problem;
  const { system, tools, messages } = parsed.value;
  return json(200, JSON.stringify({ input_tokens: countTokens([system, tools, messages]) }));
};

/** Answers like an upstream. Rejects only when it is cancelled. */
export const rehearsalUpstream: Upstream = async (request) => {
  if (!API_VERSIONS.includes(versionOf(request))) {
    return fail(400, `anthropic-version: the header must be there and be one of ${API_VERSIONS.join(', ')}`);
  }
  const [path] = request.path.split('?');
  return path === '/v1/messages/count_tokens' ? answerCount(request) : answerMessages(request);
};
