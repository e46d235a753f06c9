/** What the command line and the supervisor say to each other over the control socket (HTTP; answers of a chat are JSON lines). */
import { z } from 'zod';
import { OPERATOR_KINDS } from '../domain/audit-kinds.ts';
import { GroupId } from '../domain/ids.ts';
import { SentFile } from '../domain/message.ts';

const Timings = z.strictObject({
  queuedMs: z.number().nullable(),
  stagedMs: z.number().nullable(),
  startedMs: z.number().nullable(),
  firstModelRequestMs: z.number().nullable(),
  totalMs: z.number().nullable(),
});

/** `POST /record`: what the operator is about to do. */
export const RecordRequest = z.strictObject({
  kind: z.enum(OPERATOR_KINDS),
  group: GroupId.optional(),
  details: z.record(z.string().max(100), z.union([z.string().max(10_000), z.number(), z.boolean(), z.null()])),
});
export type RecordRequest = z.infer<typeof RecordRequest>;

/** `POST /chat`. */
export const ChatRequest = z.strictObject({ group: GroupId, text: z.string().min(1).max(1_000_000) });
export type ChatRequest = z.infer<typeof ChatRequest>;

/** One line of the answer to `POST /chat`. `done` is the last one. */
export const ChatEvent = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('accepted'), message: z.string() }),
  z.strictObject({
    kind: z.enum(['queued', 'staged', 'started', 'thinking']),
    invocation: z.string(),
  }),
  z.strictObject({ kind: z.literal('progress'), invocation: z.string(), note: z.string() }),
  /** The turn ended without an answer; the message is tried again, and the stream goes on. */
  z.strictObject({ kind: z.literal('postponed'), invocation: z.string(), detail: z.string() }),
  z.strictObject({ kind: z.literal('text'), invocation: z.string(), delta: z.string() }),
  /** A whole message as it was sent into the chat: the reply, something the agent sent, or a notice. */
  z.strictObject({
    kind: z.literal('message'),
    invocation: z.string().nullable(),
    text: z.string(),
    /** What was sent with it; the text says where it lies. */
    file: SentFile.optional(),
  }),
  z.strictObject({
    kind: z.literal('done'),
    invocation: z.string(),
    /** An end reason; `completed` is the good one. */
    reason: z.string(),
    detail: z.string().nullable(),
    /** The final answer alone; null when the turn had none. */
    reply: z.string().nullable(),
    timings: Timings,
  }),
]);
export type ChatEvent = z.infer<typeof ChatEvent>;

/** `GET /status`. */
export const StatusReport = z.strictObject({
  pid: z.number().int(),
  home: z.string(),
  version: z.string(),
  startedAt: z.string(),
  engine: z.strictObject({ name: z.string(), version: z.string(), apiVersion: z.string() }).nullable(),
  image: z.string(),
  /** Why no turn can be put on record now, so that none starts; absent: all is well. */
  auditTrouble: z.string().optional(),
  provider: z.string(),
  concurrent: z.number().int(),
  /** Disks that are nearly full; while there is one, no turn starts. */
  lowDisks: z.array(z.string()).optional(),
  waiting: z.array(z.strictObject({ group: z.string(), session: z.string(), messages: z.number().int() })),
  running: z.array(
    z.strictObject({
      invocation: z.string(),
      group: z.string(),
      tier: z.string(),
      state: z.string(),
      ageMs: z.number(),
    }),
  ),
});
export type StatusReport = z.infer<typeof StatusReport>;

/** Every refusal. */
export const ControlError = z.strictObject({ code: z.string(), message: z.string(), hint: z.string().optional() });
export type ControlError = z.infer<typeof ControlError>;

/** One line of the answer to `POST /chat` as it is written: an event, or the error that ended the telling early. */
export const ChatLine = z.discriminatedUnion('kind', [
  ...ChatEvent.options,
  ControlError.extend({ kind: z.literal('refused') }),
]);
export type ChatLine = z.infer<typeof ChatLine>;

/** What the control socket needs of the supervisor. */
export interface ControlledSupervisor {
  status(): StatusReport;
  /** Takes a message in and tells what becomes of it, until its turn is done. Aborting stops the telling, not the turn. */
  chat(request: ChatRequest, signal: AbortSignal): AsyncIterable<ChatEvent>;
  /** Ends a running turn with reason `cancelled`; false when there is none by that id. */
  cancel(invocation: string): boolean;
  /** Puts it on record. Throws AppError `audit` where it can't be. */
  record(request: RecordRequest): void;
  /** Asks the process to end in good order. */
  shutdown(): void;
}
