/**
 * Carries a provider's answer to the container: piece by piece as it arrives, only listed headers, no redirect, no
 * secret. An answer that can't be passed on whole ends in an error that the client notices.
 */
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Secrets } from '../secrets.ts';
import { errorBody, errorEvent, sendJson } from './answer.ts';
import type { Cancel } from './cancel.ts';
import type { ModelApi } from './providers.ts';
import { headersToReturn } from './rules.ts';
import { isPlain, type UpstreamAnswer, UpstreamError } from './upstream.ts';
import type { UsageTap } from './usage-tap.ts';

export interface Relay {
  readonly answer: UpstreamAnswer;
  readonly response: ServerResponse;
  readonly api: ModelApi;
  readonly secrets: Secrets;
  readonly answerBytesMax: number;
  /** When the client is gone or the session closes. */
  readonly cancel: Cancel;
}

/** A client that takes nothing for so long is cut off. */
const STALLED_CLIENT_MS = 120_000;
/** Of one answer: ten times what the longest that the tiers allow comes to, streamed at 200 bytes a token. */
export const ANSWER_BYTES_MAX = 256 * 1024 * 1024;
/** An error is a sentence or two. */
const ERROR_BYTES_MAX = 64 * 1024;

const contentType = (answer: UpstreamAnswer): string => String(answer.headers['content-type'] ?? '');
const isStream = (answer: UpstreamAnswer): boolean => /^text\/event-stream\b/i.test(contentType(answer));
const isJson = (answer: UpstreamAnswer): boolean => /^application\/json\b/i.test(contentType(answer));

/** True where the answer's body is a stream of events. */
export const isStreamed = (answer: UpstreamAnswer): boolean => isStream(answer);

/** Throws UpstreamError for an answer that must not be passed on. */
const checkAnswer = (answer: UpstreamAnswer): void => {
  if (answer.status >= 300 && answer.status < 400) {
    throw new UpstreamError(502, 'the model provider answered with a redirect, which is never followed');
  }
  if (!isPlain(answer)) throw new UpstreamError(502, 'the model provider compressed its answer unasked');
  if (answer.status < 300 && !isStream(answer) && !isJson(answer)) {
    throw new UpstreamError(502, 'the model provider’s answer is neither JSON nor a stream of events');
  }
};

const cleanHeaders = ({ answer, secrets }: Relay): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(headersToReturn(answer.headers)).map(([name, value]) => [name, secrets.redact(value)]),
  );

/** At most that many bytes of the body, as text. */
const readSome = async (body: AsyncIterable<Uint8Array>, bytesMax: number): Promise<string> => {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > bytesMax) break;
  }
  return Buffer.concat(chunks).subarray(0, bytesMax).toString('utf8');
};

const isDocument = (text: string): boolean => {
  try {
    return typeof JSON.parse(text) === 'object';
  } catch {
    // Not JSON: a page of some proxy on the way, say.
    return false;
  }
};

/** The provider's own error: its status, and its body where that is JSON of a sensible size. */
const relayError = async (relay: Relay): Promise<void> => {
  const { answer, response, api, secrets } = relay;
  const text = await readSome(answer.body, ERROR_BYTES_MAX);
  const body = isDocument(text)
    ? secrets.redact(text)
    : errorBody(api, answer.status, `the model provider answered with status ${answer.status}`);
  sendJson(response, {
    status: answer.status,
    body,
    headers: { ...cleanHeaders(relay), 'content-type': 'application/json' },
  });
};

const drained = async ({ response, cancel }: Relay): Promise<void> => {
  const stalled = setTimeout(() => response.destroy(), STALLED_CLIENT_MS);
  try {
    await once(response, 'drain', { signal: cancel.signal() });
  } finally {
    clearTimeout(stalled);
  }
};

const NOTHING = Buffer.alloc(0);

/** Holds each piece back until the next one comes. */
const createDelay = () => {
  let held: Buffer = NOTHING;
  return (piece: Buffer): Buffer => {
    const before = held;
    held = piece;
    return before;
  };
};

const begin = (relay: Relay): void => {
  if (!relay.response.headersSent) relay.response.writeHead(relay.answer.status, cleanHeaders(relay));
};

/** What has become known as a whole goes out with its length, which is less work for both ends than chunks. */
const endWith = (relay: Relay, last: Buffer): void => {
  const { answer, response } = relay;
  if (!response.headersSent) {
    response.writeHead(answer.status, { ...cleanHeaders(relay), 'content-length': last.length });
  }
  response.end(last);
};

/** Throws UpstreamError once there were more bytes than an answer has. */
const createMeter = ({ answerBytesMax }: Relay) => {
  let bytes = 0;
  return (chunk: Uint8Array): void => {
    bytes += chunk.length;
    if (bytes > answerBytesMax) throw new UpstreamError(502, 'the model provider’s answer does not end');
  };
};

/** A stream's pieces go out as they come; a document's last one together with its end, mostly all in one write. */
const pump = async (relay: Relay, tap: UsageTap): Promise<void> => {
  const { answer, response, secrets } = relay;
  const filter = secrets.filter();
  const delayed = isStream(answer) ? (piece: Buffer) => piece : createDelay();
  const count = createMeter(relay);
  for await (const chunk of answer.body) {
    count(chunk);
    const clean = delayed(filter.push(chunk));
    if (clean.length > 0) begin(relay);
    const flowing = clean.length === 0 || response.write(clean);
    tap.push(chunk);
    if (!flowing) await drained(relay);
  }
  endWith(relay, Buffer.concat([delayed(NOTHING), filter.end()]));
  // The bytes leave at the end of this turn of the event loop: what is counted afterwards keeps nobody waiting.
  await nextTurn();
};

/** After the first byte no status can be sent any more: a stream gets an error event, the rest breaks off. */
const breakOff = ({ answer, response, api }: Relay): void => {
  if (response.destroyed || !response.headersSent) return;
  if (isStream(answer)) response.end(errorEvent(api, 'the model provider’s stream broke off'));
  else response.destroy();
};

/** Resolves when the answer has been handed over. Throws UpstreamError or what the provider's stream failed with. */
export const relayAnswer = async (relay: Relay, tap: UsageTap): Promise<void> => {
  checkAnswer(relay.answer);
  if (relay.answer.status >= 400) return relayError(relay);
  if (isStream(relay.answer)) {
    begin(relay);
    relay.response.flushHeaders();
  }
  try {
    await pump(relay, tap);
  } catch (thrown) {
    breakOff(relay);
    throw thrown;
  }
};
