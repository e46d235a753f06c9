/** What happens to turns while it happens, for whoever looks on: channels that show progress, the control socket. */
import { EventEmitter } from 'node:events';
import type { TurnNews } from '../channels/channel.ts';
import type { GroupId, InvocationId } from '../domain/ids.ts';
import type { EndReason, Timings } from '../domain/invocation.ts';

export type TurnEvent =
  /** These messages are the turn's to answer. */
  | { readonly kind: 'taken'; readonly messages: readonly string[] }
  | { readonly kind: 'news'; readonly news: TurnNews }
  /** It ended without an answer, and another turn will answer its messages. */
  | { readonly kind: 'postponed'; readonly reason: EndReason; readonly detail: string | null }
  | {
      readonly kind: 'done';
      readonly reason: EndReason;
      readonly detail: string | null;
      readonly reply: string | null;
      readonly timings: Timings;
    };

export interface FeedItem {
  readonly chat: GroupId;
  readonly invocation: InvocationId;
  readonly event: TurnEvent;
}

export interface Feed {
  publish(item: FeedItem): void;
  /** Returns the function that ends the subscription. */
  subscribe(listener: (item: FeedItem) => void): () => void;
}

export const createFeed = (): Feed => {
  const emitter = new EventEmitter();
  emitter.setMaxListeners(0); // One listener per open chat; the control socket bounds how many.
  return {
    publish: (item) => void emitter.emit('item', item),
    subscribe: (listener) => {
      emitter.on('item', listener);
      return () => void emitter.off('item', listener);
    },
  };
};
