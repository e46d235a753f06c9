/** A chat message as it comes from a network, parsed by its channel; text and names are data from strangers. */
import { z } from 'zod';
import { GroupId } from './ids.ts';

export const InboundMessage = z.strictObject({
  chat: GroupId,
  /** The network's own id; with `chat` it makes the message unique. */
  id: z.string().min(1).max(200),
  senderId: z.string().min(1).max(200),
  senderName: z.string().max(500),
  text: z.string().max(1_000_000),
  /** ISO 8601, UTC. */
  at: z.iso.datetime(),
  threadId: z.string().max(200).nullable(),
  replyToId: z.string().max(200).nullable(),
});
export type InboundMessage = z.infer<typeof InboundMessage>;

/** A file on its way out: a copy of the host's own, nothing that a container can still change. */
export const SentFile = z.strictObject({
  /** Fit for display, and for a file's name on any network. */
  name: z.string().min(1).max(200),
  bytes: z.number().int().nonnegative(),
  /** Absolute, on the host. */
  path: z.string(),
});
export type SentFile = z.infer<typeof SentFile>;
