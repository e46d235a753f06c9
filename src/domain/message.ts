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
