/**
 * The local channel: the operator's own terminal and console. A message is taken in by `submit`; what goes out reaches
 * whoever subscribes to the chat at that moment, and nobody has to: the message store keeps it either way.
 */
import { userInfo } from 'node:os';
import type { GroupId } from '../domain/ids.ts';
import type { InboundMessage } from '../domain/message.ts';
import { AppError } from '../errors.ts';
import type { Channel, OutgoingFile, OutgoingMessage, TurnNews } from './channel.ts';

/** The part of a group id before the colon. */
export const LOCAL_INSTANCE = 'local';

/** What a subscriber of a chat is told. */
export type LocalEvent =
  | { readonly kind: 'message'; readonly message: OutgoingMessage | OutgoingFile }
  | { readonly kind: 'news'; readonly invocation: string; readonly news: TurnNews };

export interface LocalChannel extends Channel {
  follow(chat: GroupId, invocation: string, news: TurnNews): void;
  sendFile(message: OutgoingFile): Promise<'shown'>;
  /** Resolves when the message has been taken in (stored). Throws AppError `not-running` before start and after close. */
  submit(message: { readonly chat: GroupId; readonly text: string }): Promise<{ readonly messageId: string }>;
  /** The listener is called at once and must not throw. The returned function ends it and may be called twice. */
  subscribe(chat: GroupId, listener: (event: LocalEvent) => void): () => void;
}

export interface LocalChannelOptions {
  /** Milliseconds since 1970, as `Date.now`. */
  readonly clock: () => number;
  readonly newId: () => string;
}

type Listener = (event: LocalEvent) => void;

/** The operating system's name for whoever runs the supervisor; a uid without a passwd entry has none. */
const operatorName = (): string => {
  try {
    return userInfo().username;
  } catch {
    return 'operator'; // No passwd entry: the name is for display alone.
  }
};

/** On the operator's own machine the copy is the delivery: the text says where it lies. */
const withPlace = ({ text, file }: OutgoingFile): string =>
  `${text === '' ? '' : `${text}\n`}[file "${file.name}", ${file.bytes} bytes: ${file.path}]`;

export const createLocalChannel = ({ clock, newId }: LocalChannelOptions): LocalChannel => {
  const listeners = new Map<GroupId, Set<Listener>>();
  const state: { receive: ((message: InboundMessage) => Promise<void>) | null } = { receive: null };
  const senderName = operatorName();

  const tell = (chat: GroupId, event: LocalEvent): void => {
    for (const listener of [...(listeners.get(chat) ?? [])]) listener(event);
  };

  const unsubscribe = (chat: GroupId, listener: Listener): void => {
    const ofChat = listeners.get(chat);
    ofChat?.delete(listener);
    if (ofChat?.size === 0) listeners.delete(chat);
  };

  return {
    instance: LOCAL_INSTANCE,
    start: async (receive) => {
      state.receive = receive;
    },
    submit: async ({ chat, text }) => {
      if (state.receive === null) throw new AppError({ code: 'not-running', message: 'the local channel is closed' });
      const id = newId();
      const at = new Date(clock()).toISOString();
      await state.receive({ chat, id, senderId: 'operator', senderName, text, at, threadId: null, replyToId: null });
      return { messageId: id };
    },
    subscribe: (chat, listener) => {
      // A function of its own per subscription: the same listener may subscribe twice.
      const own: Listener = (event) => listener(event);
      listeners.set(chat, (listeners.get(chat) ?? new Set()).add(own));
      return () => unsubscribe(chat, own);
    },
    send: async (message) => tell(message.chat, { kind: 'message', message }),
    sendFile: async (message) => {
      tell(message.chat, { kind: 'message', message: { ...message, text: withPlace(message) } });
      return 'shown';
    },
    follow: (chat, invocation, news) => tell(chat, { kind: 'news', invocation, news }),
    close: async () => {
      state.receive = null;
      listeners.clear();
    },
  };
};
