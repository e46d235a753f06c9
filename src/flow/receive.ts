/**
 * The first step of the walk: a message comes in. It is stored before the network is told that it arrived, once per
 * network id; a chat that nobody registered gets nothing.
 */
import type { Logger } from 'pino';
import type { GroupId, SessionName } from '../domain/ids.ts';
import type { InboundMessage } from '../domain/message.ts';
import type { Stores } from '../store/stores.ts';
import type { Replier } from './reply.ts';

export type Received = 'queued' | 'duplicate' | 'unregistered' | 'overflow';

export interface ReceiverOptions {
  readonly stores: Stores;
  readonly replier: Replier;
  /** Messages that may wait in one session; what is more becomes a dead letter. */
  readonly backlog: number;
  readonly wake: () => void;
  readonly logger: Logger;
}

const PEOPLE: SessionName = 'default';
const BACKLOG_NOTICE =
  '⚠ Too many messages are waiting here. Newer ones are kept, but I will not answer them by myself.';

export const createReceiver = ({ stores, replier, backlog, wake, logger }: ReceiverOptions) => {
  /** Chats that have been told since they last had room. */
  const told = new Set<GroupId>();

  const overflow = (chat: GroupId): void => {
    logger.warn({ chat, backlog }, 'the backlog of a chat is full; see tierclaw dead list');
    if (told.has(chat)) return;
    told.add(chat);
    void replier.deliver({ chat, text: BACKLOG_NOTICE, invocation: null });
  };

  /** Throws AppError `conflict` where a database stays locked: then it was not accepted, and may come again. */
  return async (message: InboundMessage): Promise<Received> => {
    const group = stores.groups.find(message.chat);
    if (group === null) {
      logger.info({ chat: message.chat }, 'a message from a chat that is not registered; nothing is done');
      return 'unregistered';
    }
    const entry = { message, group: group.id, session: PEOPLE, backlog };
    const accepted = await stores.whenFree(() => stores.inbound.accept(entry));
    // Also a second time: the first may have been refused between the two.
    await stores.whenFree(() => stores.messages.saveInbound(message));
    if (accepted === 'duplicate') return 'duplicate';
    if (accepted === 'overflow') overflow(message.chat);
    else told.delete(message.chat);
    wake();
    return accepted === 'new' ? 'queued' : 'overflow';
  };
};
