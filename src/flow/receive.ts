/**
 * The first step of the walk: a message comes in. It is stored before the network is told that it arrived, once per
 * network id; a chat that nobody registered gets nothing.
 */
import type { Logger } from 'pino';
import type { SessionName } from '../domain/ids.ts';
import type { InboundMessage } from '../domain/message.ts';
import type { Stores } from '../store/stores.ts';

export type Received = 'queued' | 'duplicate' | 'unregistered';

export interface ReceiverOptions {
  readonly stores: Stores;
  readonly wake: () => void;
  readonly logger: Logger;
}

const PEOPLE: SessionName = 'default';

export const createReceiver =
  ({ stores, wake, logger }: ReceiverOptions) =>
  (message: InboundMessage): Received => {
    const group = stores.groups.find(message.chat);
    if (group === null) {
      logger.info({ chat: message.chat }, 'a message from a chat that is not registered; nothing is done');
      return 'unregistered';
    }
    if (stores.inbound.accept({ message, group: group.id, session: PEOPLE }) === 'duplicate') return 'duplicate';
    stores.messages.saveInbound(message);
    wake();
    return 'queued';
  };
