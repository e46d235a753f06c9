/**
 * What the rehearsal model accepts: the Messages API's request, checked as strictly as the real one checks it, so that
 * a runner that works here works there. Pure.
 */
import { z } from 'zod';
import { REHEARSAL_MODEL } from '../domain/provider-config.ts';

const Cache = { cache_control: z.unknown().optional() };
const Text = z.strictObject({
  type: z.literal('text'),
  text: z.string().min(1),
  citations: z.unknown().optional(),
  ...Cache,
});
const Media = z.looseObject({ type: z.enum(['image', 'document']), source: z.looseObject({ type: z.string() }) });
const ToolUse = z.strictObject({
  type: z.literal('tool_use'),
  id: z.string().regex(/^[A-Za-z0-9_-]{1,200}$/),
  name: z.string().regex(/^[A-Za-z0-9_-]{1,128}$/),
  input: z.record(z.string(), z.unknown()),
  caller: z.unknown().optional(),
  ...Cache,
});
const ToolResult = z.strictObject({
  type: z.literal('tool_result'),
  tool_use_id: z.string(),
  content: z.union([z.string(), z.array(z.union([Text, Media]))]).optional(),
  is_error: z.boolean().optional(),
  ...Cache,
});
const Thinking = z.looseObject({ type: z.enum(['thinking', 'redacted_thinking']) });

// By `type`: a plain union tries all of them on every bad block, and writes down why each didn't fit.
const Block = z.discriminatedUnion('type', [Text, Media, ToolUse, ToolResult, Thinking]);
export type Block = z.infer<typeof Block>;

const Message = z.strictObject({
  role: z.enum(['user', 'assistant']),
  content: z.union([z.string().min(1), z.array(Block).min(1)]),
});

const Tool = z.looseObject({
  name: z.string().regex(/^[A-Za-z0-9_-]{1,128}$/),
  input_schema: z.looseObject({ type: z.literal('object') }).optional(),
});

const Counted = {
  model: z.literal(REHEARSAL_MODEL),
  messages: z.array(Message).min(1),
  system: z.union([z.string(), z.array(Text)]).optional(),
  tools: z.array(Tool).optional(),
  tool_choice: z.looseObject({ type: z.enum(['auto', 'any', 'tool', 'none']) }).optional(),
  thinking: z.looseObject({ type: z.string() }).optional(),
  output_config: z.unknown().optional(),
  output_format: z.unknown().optional(),
  context_management: z.unknown().optional(),
  ...Cache,
};

export const CountRequest = z.strictObject(Counted);

export const MessagesRequest = z.strictObject({
  ...Counted,
  max_tokens: z.number().int().positive(),
  stream: z.boolean().optional(),
  temperature: z.number().min(0).max(1).optional(),
  top_p: z.number().min(0).max(1).optional(),
  top_k: z.number().int().nonnegative().optional(),
  stop_sequences: z.array(z.string()).optional(),
  metadata: z.looseObject({}).optional(),
  service_tier: z.string().optional(),
});
export type MessagesRequest = z.infer<typeof MessagesRequest>;

type Messages = MessagesRequest['messages'];

export const blocksOf = (message: Messages[number] | undefined): readonly Block[] => {
  if (message === undefined) return [];
  return typeof message.content === 'string' ? [{ type: 'text', text: message.content }] : message.content;
};

/** Neighbours of one role are one message, as for the real API. */
export const joinNeighbours = (messages: Messages): Messages => {
  const joined: { role: 'user' | 'assistant'; content: Block[] }[] = [];
  for (const message of messages) {
    const last = joined.at(-1);
    if (last?.role === message.role) last.content.push(...blocksOf(message));
    else joined.push({ role: message.role, content: [...blocksOf(message)] });
  }
  return joined;
};

const toolUses = (message: Messages[number] | undefined): readonly string[] =>
  blocksOf(message).flatMap((block) => (block.type === 'tool_use' ? [block.id] : []));

const toolResults = (message: Messages[number] | undefined): readonly string[] =>
  blocksOf(message).flatMap((block) => (block.type === 'tool_result' ? [block.tool_use_id] : []));

const roleProblem = ({ role, content }: Messages[number], at: string): string | undefined => {
  const types = typeof content === 'string' ? [] : content.map(({ type }) => type);
  const foreign = role === 'user' ? 'tool_use' : 'tool_result';
  if (types.includes(foreign)) return `${at}: ${foreign} blocks may not be in ${role} messages`;
  const lastResult = types.lastIndexOf('tool_result');
  return types.slice(0, Math.max(0, lastResult)).some((type) => type !== 'tool_result')
    ? `${at}: tool_result blocks must come first in a message`
    : undefined;
};

/** Every tool_use is answered by the very next message, and nothing else is answered there. */
const pairProblem = (
  before: Messages[number] | undefined,
  message: Messages[number],
  at: string,
): string | undefined => {
  const asked = message.role === 'user' ? toolUses(before) : [];
  const answered = toolResults(message);
  const answers = new Set(answered);
  const missing = asked.find((id) => !answers.has(id));
  if (missing !== undefined) return `${at}: the tool_use ${missing} has no tool_result in the message after it`;
  const questions = new Set(asked);
  const unasked = answered.find((id) => !questions.has(id));
  if (unasked !== undefined) return `${at}: the tool_result ${unasked} has no tool_use in the message before it`;
  return answers.size === answered.length ? undefined : `${at}: a tool_use is answered twice`;
};

const orderProblem = (messages: Messages): string | undefined => {
  if (messages[0]?.role !== 'user') return 'messages: the first message must have the role user';
  if (messages.at(-1)?.role !== 'user') return 'messages: the last message must have the role user';
  const ids = messages.flatMap(toolUses);
  return new Set(ids).size === ids.length ? undefined : 'messages: tool_use ids must be unique';
};

/** API versions that are known here; the first is what the AI SDK sends, the last what Anthropic's own library sends. */
export const API_VERSIONS: readonly string[] = ['2023-06-01', '2026-10-21'];

const hasCitations = (block: Block): boolean =>
  block.type === 'text' && Array.isArray(block.citations) && block.citations.length > 0;

const newerProblem = ({ role, content }: Messages[number], index: number): string | undefined => {
  const blocks = typeof content === 'string' ? [] : content;
  if (role === 'assistant' && blocks.some(({ type }) => type === 'document')) {
    return `messages.${index}: document blocks may not be in assistant messages`;
  }
  return role === 'user' && blocks.some(hasCitations)
    ? `messages.${index}: citations may not be in user messages`
    : undefined;
};

/** What version 2026-10-21 no longer takes; undefined for the older one. */
export const versionProblem = (request: MessagesRequest, version: string): string | undefined => {
  if (version === API_VERSIONS[0]) return undefined;
  const sampling = (['temperature', 'top_p', 'top_k'] as const).find((key) => request[key] !== undefined);
  if (sampling !== undefined) return `${sampling}: this parameter is gone in ${version}`;
  return request.messages.map(newerProblem).find((problem) => problem !== undefined);
};

/** What is wrong with a conversation whose parts are well-formed; `messages` with neighbours joined. */
export const conversationProblem = (messages: Messages): string | undefined => {
  const problems = messages.map((message, index) => {
    const at = `messages.${index}`;
    return roleProblem(message, at) ?? pairProblem(messages[index - 1], message, at);
  });
  return orderProblem(messages) ?? problems.find((problem) => problem !== undefined);
};
