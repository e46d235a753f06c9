/**
 * The answer to `POST /chat`: one JSON line per event, at the pace of whoever reads. Invariant: the stream ends when
 * its signal is aborted, even if the events' source has nothing to say at that moment.
 */
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { toAppError } from '../errors.ts';
import type { ChatEvent, ChatLine } from './control-protocol.ts';

const END: IteratorReturnResult<undefined> = { done: true, value: undefined };

const whenAborted = (signal: AbortSignal): Promise<IteratorReturnResult<undefined>> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve(END);
    signal.addEventListener('abort', () => resolve(END), { once: true });
  });

const writeLine = async (response: ServerResponse, line: ChatLine, signal: AbortSignal): Promise<void> => {
  if (response.write(`${JSON.stringify(line)}\n`)) return;
  await once(response, 'drain', { signal }).catch(() => undefined); // Aborted: the loop ends by itself.
};

const lastLine = (thrown: unknown): ChatLine => {
  const { code, message, hint } = toAppError(thrown);
  return { kind: 'refused', code, message, ...(hint === undefined ? {} : { hint }) };
};

/** Throws what the source throws before its first event (so that it can become an HTTP status); later: a last line. */
export const streamChat = async (
  response: ServerResponse,
  events: AsyncIterable<ChatEvent>,
  signal: AbortSignal,
): Promise<void> => {
  const iterator = events[Symbol.asyncIterator]();
  const aborted = whenAborted(signal);
  const next = () => Promise.race([iterator.next(), aborted]);
  const first = await next();
  response.writeHead(200, { 'content-type': 'application/x-ndjson', 'cache-control': 'no-store' });
  try {
    for (let step = first; step.done !== true; step = await next()) await writeLine(response, step.value, signal);
  } catch (thrown) {
    response.write(`${JSON.stringify(lastLine(thrown))}\n`);
  }
  response.end();
  // A source that waits for something else can't be awaited here; it ends when that wait does.
  void iterator.return?.().catch(() => undefined);
};
