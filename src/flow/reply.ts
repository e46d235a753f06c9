/**
 * The last step of the walk: a text goes into a chat. An outbox row first, then the network, then the mark; what a
 * crash leaves unmarked is sent again at the next start.
 */
import type { Logger } from 'pino';
import type { Channel } from '../channels/channel.ts';
import { GroupId, InvocationId } from '../domain/ids.ts';
import { stripInternal } from '../domain/internal-text.ts';
import { AppError, toAppError } from '../errors.ts';
import type { Stores } from '../store/stores.ts';

export interface Reply {
  readonly chat: GroupId;
  readonly text: string;
  readonly invocation: InvocationId | null;
}

export interface Replier {
  /** Resolves with false when there was nothing to say or the network did not take it (the row is kept). */
  deliver(reply: Reply): Promise<boolean>;
  /** Sends what an earlier life left unsent. */
  resume(): Promise<void>;
}

export interface ReplierOptions {
  readonly stores: Stores;
  readonly channels: ReadonlyMap<string, Channel>;
  readonly clock: () => number;
  readonly logger: Logger;
}

const channelOf = (channels: ReadonlyMap<string, Channel>, chat: GroupId): Channel => {
  const instance = chat.slice(0, chat.indexOf(':'));
  const channel = channels.get(instance);
  if (channel === undefined) {
    throw new AppError({ code: 'not-found', message: `there is no channel "${instance}" for the chat ${chat}` });
  }
  return channel;
};

export const createReplier = ({ stores, channels, clock, logger }: ReplierOptions): Replier => {
  const send = async (id: string, reply: Reply): Promise<boolean> => {
    try {
      await channelOf(channels, reply.chat).send(reply);
      stores.outbox.markSent(id);
      return true;
    } catch (thrown) {
      // The outermost point of a delivery: the row keeps the error, and the turn goes on.
      const error = toAppError(thrown);
      stores.outbox.markFailed(id, error.message);
      logger.error({ outbox: id, chat: reply.chat, err: error }, 'a message could not be delivered; it is kept');
      return false;
    }
  };

  const deliver = async (reply: Reply): Promise<boolean> => {
    const text = stripInternal(reply.text).trim();
    if (text === '') return false;
    const { chat, invocation } = reply;
    const id = stores.outbox.add({ invocation, chat, text });
    stores.messages.saveOutgoing({ chat, text, id, at: new Date(clock()).toISOString() });
    return send(id, { chat, text, invocation });
  };

  return {
    deliver,
    resume: async () => {
      for (const row of stores.outbox.pending()) {
        await send(row.id, {
          chat: GroupId.parse(row.chat),
          text: row.text,
          invocation: InvocationId.nullable().parse(row.invocation),
        });
      }
    },
  };
};
