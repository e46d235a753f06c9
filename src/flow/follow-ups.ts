/**
 * Messages that arrive while their session's turn runs. Each is put before the container at most once; whether it was
 * taken in is the container's acknowledgement, and what it did not acknowledge is answered by the next turn.
 */
import type { InboundMessage } from '../domain/message.ts';
import type { PromptMessage } from '../protocol.ts';

export interface FollowUpsOptions {
  /** Names a file; the network's own id might not do. */
  readonly newId: () => string;
  /** The database that the container sees gets the newest messages. */
  readonly refresh: () => Promise<void>;
  readonly put: (id: string, message: PromptMessage) => Promise<boolean>;
  readonly onError: (thrown: unknown) => void;
}

export interface FollowUps {
  /** Registered when it returns; put there a little later. */
  offer(messages: readonly InboundMessage[]): void;
  /** Ids of the messages that are taken in by it; unknown and repeated ids are ignored. */
  acknowledge(ids: readonly string[]): readonly string[];
  /** Ids of messages that were offered and not acknowledged. */
  untouched(): readonly string[];
}

export const promptMessage = ({ id, senderName, text, at }: InboundMessage): PromptMessage => ({
  id,
  sender: senderName,
  text,
  at,
});

export const createFollowUps = ({ newId, refresh, put, onError }: FollowUpsOptions): FollowUps => {
  const open = new Map<string, string>();

  const place = async (files: readonly (readonly [string, InboundMessage])[]): Promise<void> => {
    await refresh();
    for (const [file, message] of files) await put(file, promptMessage(message));
  };

  return {
    offer: (messages) => {
      const files = messages.map((message) => [newId(), message] as const);
      for (const [file, { id }] of files) open.set(file, id);
      // What could not be put there is not acknowledged, and so not lost.
      place(files).catch(onError);
    },
    acknowledge: (ids) =>
      ids.flatMap((file) => {
        const message = open.get(file);
        return message !== undefined && open.delete(file) ? [message] : [];
      }),
    untouched: () => [...open.values()],
  };
};
