/**
 * A message put into a local chat and what becomes of it, as one stream, from accepted to the end of the turn that
 * answers it. Listening begins before the message is handed in, so that nothing is missed.
 */
import { EventEmitter, on } from 'node:events';
import type { LocalChannel } from '../channels/local.ts';
import type { Feed, FeedItem } from '../flow/feed.ts';
import type { ChatEvent, ChatRequest } from './control-protocol.ts';

type Heard = { readonly from: 'feed'; readonly item: FeedItem } | { readonly from: 'chat'; readonly event: ChatEvent };

export interface LocalChatOptions {
  readonly local: LocalChannel;
  readonly feed: Feed;
}

const eventOf = ({ invocation, event }: FeedItem): ChatEvent | null => {
  switch (event.kind) {
    case 'taken':
      return null;
    case 'news':
      return { ...event.news, invocation };
    case 'postponed':
      return { kind: 'postponed', invocation, detail: event.detail ?? event.reason };
    case 'done':
      return { ...event, invocation };
  }
};

/** What the listener of one message passes on: the whole chat's messages, and the news of its own turn alone. */
const createFilter = (messageId: string) => {
  const own = { invocation: '' };
  return (heard: Heard): ChatEvent | null => {
    if (heard.from === 'chat') return heard.event;
    const { invocation, event } = heard.item;
    if (event.kind === 'taken' && event.messages.includes(messageId)) own.invocation = invocation;
    return invocation === own.invocation ? eventOf(heard.item) : null;
  };
};

export const createLocalChat = ({ local, feed }: LocalChatOptions) =>
  async function* chat({ group, text }: ChatRequest, signal: AbortSignal): AsyncGenerator<ChatEvent, void, undefined> {
    const emitter = new EventEmitter();
    const hear = (heard: Heard): void => void emitter.emit('heard', heard);
    const unsubscribe = [
      feed.subscribe((item) => item.chat === group && hear({ from: 'feed', item })),
      local.subscribe(group, (event) => {
        if (event.kind !== 'message') return;
        const { invocation, text: said } = event.message;
        const file = 'file' in event.message ? { file: event.message.file } : {};
        hear({ from: 'chat', event: { kind: 'message', invocation, text: said, ...file } });
      }),
    ];
    try {
      const all = on(emitter, 'heard', { signal });
      const { messageId } = await local.submit({ chat: group, text });
      yield { kind: 'accepted', message: messageId };
      const pass = createFilter(messageId);
      for await (const [heard] of all as AsyncIterable<[Heard]>) {
        const event = pass(heard);
        if (event !== null) yield event;
        if (event?.kind === 'done') return;
      }
    } finally {
      for (const end of unsubscribe) end();
    }
  };
