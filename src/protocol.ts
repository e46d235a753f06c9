/**
 * Every message between host and container, as zod unions: frames (newline-delimited JSON over stdin and stdout) and
 * IPC files. Both sides parse with these and with nothing else. What comes from a container is a claim: it carries no
 * authority beyond what the plan allows.
 */
import { z } from 'zod';
import { TOOL_NAMES } from './domain/tools.ts';

/** A frame from the container may be this long, newline included; a longer line ends the turn (`output`). */
export const FRAME_BYTES_MAX = 1024 * 1024;
/** `init` alone may be this long. */
export const INIT_BYTES_MAX = 16 * 1024 * 1024;
/** One IPC file. */
export const IPC_FILE_BYTES_MAX = 1024 * 1024;
/** A chat text that a container sends, in UTF-16 units. */
export const REPLY_CHARS_MAX = 50_000;
/** What goes with a file, in UTF-16 units: networks take 1,024. */
export const CAPTION_CHARS_MAX = 1000;

/** Where things are inside every container. */
export const CONTAINER = {
  workspace: '/workspace',
  group: '/workspace/group',
  ipc: '/workspace/ipc',
  database: '/workspace/store/messages.db',
  socket: '/run/tierclaw/gateway.sock',
  relayPort: 8118,
  home: '/tmp/home',
} as const;

/** Far more tool calls than one answer of a model has; the host checks each part of a whole window at every turn. */
export const ENTRY_PARTS_MAX = 200;

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value);

/** One check and at most one issue for all parts: a list of what is wrong with each would cost the host 20 ms a frame. */
const EntryParts = z.custom<Record<string, unknown>[]>(
  (value) => Array.isArray(value) && value.length <= ENTRY_PARTS_MAX && value.every(isObject),
  `at most ${ENTRY_PARTS_MAX} objects`,
);

/**
 * One kept piece of a conversation, in the shape of the AI SDK's ModelMessage: `content` is a string or an array of
 * parts and is opaque to the host, which stores it bounded and hands it back to the same session only.
 */
export const TranscriptEntry = z.strictObject({
  role: z.enum(['user', 'assistant', 'tool']),
  content: z.union([z.string(), EntryParts]),
});
export type TranscriptEntry = z.infer<typeof TranscriptEntry>;

/** A chat message that the turn has to answer. */
export const PromptMessage = z.strictObject({
  id: z.string(),
  sender: z.string(),
  text: z.string(),
  /** ISO 8601, UTC. */
  at: z.string(),
});
export type PromptMessage = z.infer<typeof PromptMessage>;

export const InitFrame = z.strictObject({
  type: z.literal('init'),
  invocation: z.string(),
  chat: z.strictObject({ id: z.string(), name: z.string() }),
  /** The composed instructions: persona, tiles, group's own; the system prompt. */
  instructions: z.string(),
  model: z.strictObject({
    /** Chooses the client library and the path below `/model/<provider>`. */
    provider: z.string(),
    api: z.enum(['anthropic', 'openai-compatible']),
    name: z.string(),
    maxTokens: z.number().int().positive(),
  }),
  tools: z.array(z.enum(TOOL_NAMES)),
  /** What the model may be told of; left out: there are none. */
  credentials: z
    .strictObject({
      /** Reached at `/cred/<name>` of the relay. */
      routes: z.array(
        z.strictObject({ name: z.string(), methods: z.array(z.string()), pathPrefixes: z.array(z.string()) }),
      ),
      /** Names of variables in the container's own environment that commands get, too. */
      environment: z.array(z.string()),
    })
    .optional(),
  transcript: z.array(TranscriptEntry),
  messages: z.array(PromptMessage).min(1),
  limits: z.strictObject({
    /** Model requests in this turn. */
    steps: z.number().int().positive(),
    /** The runner ends itself with an error this long after `init`; the host's own limit lies above it. */
    turnMs: z.number().int().positive(),
    /** One shell command. */
    commandMs: z.number().int().positive(),
    /** What one tool call may hand to the model. */
    toolOutputBytes: z.number().int().positive(),
  }),
});
export type InitFrame = z.infer<typeof InitFrame>;

export const HostFrame = z.discriminatedUnion('type', [
  InitFrame,
  /** Look into `input/`. */
  z.strictObject({ type: z.literal('poke') }),
  /** End the turn now: abort the model request and running tools, then exit. */
  z.strictObject({ type: z.literal('stop'), reason: z.string() }),
]);
export type HostFrame = z.infer<typeof HostFrame>;

const Digest = z.string().regex(/^[0-9a-f]{64}$/);

export const RunnerFrame = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('ready') }),
  z.strictObject({ type: z.literal('progress'), note: z.string().max(500) }),
  /** A piece of the reply as the model writes it. */
  z.strictObject({ type: z.literal('text'), delta: z.string() }),
  /** These files of `input/` have been taken in. */
  z.strictObject({ type: z.literal('ack'), ids: z.array(z.string().max(64)).max(1000) }),
  z.strictObject({ type: z.literal('transcript'), entries: z.array(TranscriptEntry).max(200) }),
  /** What the provider reported. A claim: spend is counted at the gateway. */
  z.strictObject({
    type: z.literal('usage'),
    inputTokens: z.number().int().nonnegative(),
    outputTokens: z.number().int().nonnegative(),
  }),
  /** One per tool call. */
  z.strictObject({
    type: z.literal('receipt'),
    id: z.string().max(200),
    tool: z.string().max(100),
    /** SHA-256 of the arguments' JSON, hex. */
    argumentsDigest: Digest,
    outcome: z.enum(['ok', 'error', 'cancelled']),
  }),
  /** The end of a good turn; an empty text sends nothing. */
  z.strictObject({ type: z.literal('result'), text: z.string() }),
  z.strictObject({
    type: z.literal('error'),
    kind: z.enum(['provider', 'limit', 'cancelled', 'internal']),
    /** HTTP status of the provider's answer, where there was one. */
    status: z.number().int().optional(),
    message: z.string().max(10_000),
  }),
]);
export type RunnerFrame = z.infer<typeof RunnerFrame>;

/** Chosen by the container; names the answer file. */
export const RequestId = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/);

/** A file in `messages/`: what any tier's agent may ask for. Who asks is the directory, never a field. */
export const MessageRequest = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('message'),
    id: RequestId,
    text: z.string().min(1).max(REPLY_CHARS_MAX),
    /** A group id; left out: the own chat. */
    chat: z.string().max(300).optional(),
  }),
  z.strictObject({
    type: z.literal('send_file'),
    id: RequestId,
    /** Absolute, as the container names it. */
    path: z.string().min(1).max(4096),
    caption: z.string().max(CAPTION_CHARS_MAX).optional(),
    chat: z.string().max(300).optional(),
  }),
]);
export type MessageRequest = z.infer<typeof MessageRequest>;

/** Any request at all, to answer one that isn't known: just enough to name the answer. */
export const AnyRequest = z.looseObject({ type: z.string().max(100), id: RequestId });

/** `input/<id>.json`, host → container. */
export const InputFile = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('answer'),
    /** The request's id. */
    id: RequestId,
    ok: z.boolean(),
    /** Why it was refused, or what was done; shown to the model. */
    detail: z.string(),
  }),
  z.strictObject({ type: z.literal('follow-up'), id: RequestId, message: PromptMessage }),
]);
export type InputFile = z.infer<typeof InputFile>;

/** One JSON line. */
export const encodeFrame = (frame: HostFrame | RunnerFrame): string => `${JSON.stringify(frame)}\n`;
