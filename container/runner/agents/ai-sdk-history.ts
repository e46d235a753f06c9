/**
 * Kept entries → the SDK's messages. A window may have cut between a call and its result, and entries are a claim; a
 * provider refuses such a conversation for ever, so calls and results that don't belong together are left out. Pure.
 */
import { type ModelMessage, modelMessageSchema } from 'ai';
import { z } from 'zod';
import type { TranscriptEntry } from '../../../src/protocol.ts';

const idsOf = (message: ModelMessage | undefined, type: 'tool-call' | 'tool-result'): Set<string> => {
  if (message === undefined || typeof message.content === 'string') return new Set();
  return new Set(
    message.content.flatMap((part) => (part.type === type && 'toolCallId' in part ? [part.toolCallId] : [])),
  );
};

/** What a turn of ours keeps; a file or an image was never in one, and a model that can't take it refuses for ever. */
const KEPT: ReadonlySet<string> = new Set(['text', 'reasoning', 'tool-call', 'tool-result']);
const TOOL_NAME = /^[A-Za-z0-9_-]{1,128}$/;

const PartHead = z.object({ type: z.string().catch(''), toolName: z.string().optional().catch('') });

const isUsable = (part: z.infer<typeof PartHead>): boolean =>
  KEPT.has(part.type) && (part.toolName === undefined || TOOL_NAME.test(part.toolName));

/** The entry without the parts that no turn of ours has kept; an entry is a claim of a container's. */
const withoutForeign = (entry: TranscriptEntry): TranscriptEntry =>
  typeof entry.content === 'string'
    ? entry
    : { ...entry, content: entry.content.filter((part) => isUsable(PartHead.parse(part))) };

/** A provider takes neither an empty message nor a blank text in one. */
const withoutBlanks = (message: ModelMessage): ModelMessage[] => {
  if (message.role === 'assistant' && typeof message.content !== 'string') {
    const content = message.content.filter((part) => part.type !== 'text' || part.text.trim() !== '');
    return content.length === 0 ? [] : [{ ...message, content }];
  }
  return message.content.length === 0 ? [] : [message];
};

const parsed = (entry: TranscriptEntry): ModelMessage[] => {
  const result = modelMessageSchema.safeParse(withoutForeign(entry));
  return result.success ? withoutBlanks(result.data) : [];
};

/** Calls that the very next message answers, all of them or none: providers want the results at once. */
const isAnswered = (message: ModelMessage, next: ModelMessage | undefined): boolean => {
  const results = next?.role === 'tool' ? idsOf(next, 'tool-result') : new Set<string>();
  const calls = idsOf(message, 'tool-call');
  return calls.size === results.size && [...calls].every((id) => results.has(id));
};

const withoutCalls = (message: ModelMessage): ModelMessage[] => {
  if (message.role !== 'assistant' || typeof message.content === 'string') return [message];
  const content = message.content.filter((part) => part.type === 'text');
  return content.length === 0 ? [] : [{ role: 'assistant', content }];
};

const keep = (messages: readonly ModelMessage[], index: number): ModelMessage[] => {
  const message = messages[index];
  if (message === undefined) return [];
  if (message.role === 'tool') {
    const before = messages[index - 1];
    return before?.role === 'assistant' && isAnswered(before, message) ? [message] : [];
  }
  const calls = idsOf(message, 'tool-call').size > 0;
  return calls && !isAnswered(message, messages[index + 1]) ? withoutCalls(message) : [message];
};

export const toModelMessages = (entries: readonly TranscriptEntry[]): ModelMessage[] => {
  const messages = entries.flatMap(parsed);
  const paired = messages.flatMap((_, index) => keep(messages, index));
  const first = paired.findIndex((message) => message.role === 'user');
  return first === -1 ? [] : paired.slice(first);
};
