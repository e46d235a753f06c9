/** The rehearsal model's answer as the Messages API writes it: one JSON message, or its sequence of events. Pure. */
import { createHash } from 'node:crypto';
import { REHEARSAL_MODEL } from '../domain/provider-config.ts';
import type { MessagesRequest } from './rehearsal-request.ts';
import type { Spoken } from './rehearsal-script.ts';

export interface Message {
  readonly id: string;
  readonly content: readonly Spoken[];
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly stopReason: 'end_turn' | 'tool_use' | 'max_tokens';
}

const CHARS_PER_TOKEN = 4;
/** A piece of text per event: small enough to look like writing. */
const PIECE_CHARS = 24;

/** A stand-in's idea of tokens: a quarter of the characters. */
export const countTokens = (value: unknown): number =>
  Math.ceil((JSON.stringify(value)?.length ?? 0) / CHARS_PER_TOKEN);

const textSize = (content: readonly Spoken[]): number =>
  content.reduce((size, block) => size + (block.type === 'text' ? block.text.length : 0), 0);

/** Text beyond the cap is cut off, and the stop reason says so; tool calls are short and stay whole. */
const within = (content: readonly Spoken[], chars: number): readonly Spoken[] => {
  if (textSize(content) <= chars) return content;
  const text = content.map((block) => (block.type === 'text' ? block.text : '')).join('\n');
  return [{ type: 'text', text: text.slice(0, chars) }];
};

const stopReason = (content: readonly Spoken[], complete: boolean): Message['stopReason'] => {
  if (!complete) return 'max_tokens';
  return content.some(({ type }) => type === 'tool_use') ? 'tool_use' : 'end_turn';
};

/** A whole message, within the request's `max_tokens`. */
export const toMessage = (request: MessagesRequest, content: readonly Spoken[]): Message => {
  const kept = within(content, request.max_tokens * CHARS_PER_TOKEN);
  const digest = createHash('sha256').update(JSON.stringify(request.messages)).digest('hex');
  return {
    id: `msg_rehearsal_${digest.slice(0, 20)}`,
    content: kept,
    inputTokens: countTokens([request.system, request.tools, request.messages]),
    outputTokens: countTokens(kept),
    stopReason: stopReason(kept, kept === content),
  };
};

const envelope = (message: Message): Readonly<Record<string, unknown>> => ({
  id: message.id,
  type: 'message',
  role: 'assistant',
  model: REHEARSAL_MODEL,
});

const usage = ({ inputTokens }: Message, outputTokens: number): Readonly<Record<string, number>> => ({
  input_tokens: inputTokens,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  output_tokens: outputTokens,
});

/** The answer to a request that doesn't stream. */
export const messageJson = (message: Message): string =>
  JSON.stringify({
    ...envelope(message),
    content: message.content,
    stop_reason: message.stopReason,
    stop_sequence: null,
    usage: usage(message, message.outputTokens),
  });

type Event = Readonly<Record<string, unknown>> & { readonly type: string };

/** One server-sent event. */
export const eventText = (event: Event): string => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;

export const messageStart = (message: Message): Event => ({
  type: 'message_start',
  message: { ...envelope(message), content: [], stop_reason: null, stop_sequence: null, usage: usage(message, 1) },
});

export const blockStart = (block: Spoken, index: number): Event => ({
  type: 'content_block_start',
  index,
  content_block: block.type === 'text' ? { type: 'text', text: '' } : { ...block, input: {} },
});

export const textDelta = (text: string, index: number): Event => ({
  type: 'content_block_delta',
  index,
  delta: { type: 'text_delta', text },
});

export const blockStop = (index: number): Event => ({ type: 'content_block_stop', index });

export const messageEnd = (message: Message): readonly Event[] => [
  {
    type: 'message_delta',
    delta: { stop_reason: message.stopReason, stop_sequence: null },
    usage: { output_tokens: message.outputTokens },
  },
  { type: 'message_stop' },
];

const pieces = (text: string): readonly string[] => text.match(new RegExp(`[\\s\\S]{1,${PIECE_CHARS}}`, 'gu')) ?? [];

const blockEvents = (block: Spoken, index: number): readonly Event[] => {
  const deltas =
    block.type === 'text'
      ? pieces(block.text).map((piece) => textDelta(piece, index))
      : pieces(JSON.stringify(block.input)).map((piece) => ({
          type: 'content_block_delta',
          index,
          delta: { type: 'input_json_delta', partial_json: piece },
        }));
  return [blockStart(block, index), ...deltas, blockStop(index)];
};

/** All events of a message that is known at once. */
export const messageEvents = (message: Message): readonly Event[] => [
  messageStart(message),
  { type: 'ping' },
  ...message.content.flatMap(blockEvents),
  ...messageEnd(message),
];
