/** The channel port: one network (or the local console) that carries chat messages in and out. */
import type { GroupId } from '../domain/ids.ts';
import type { InboundMessage, SentFile } from '../domain/message.ts';

export interface OutgoingMessage {
  readonly chat: GroupId;
  readonly text: string;
  /** The invocation it comes from, where it comes from one. */
  readonly invocation: string | null;
}

/** `text` is its caption and may be empty. */
export interface OutgoingFile extends OutgoingMessage {
  readonly file: SentFile;
}

/** What a channel that can show a turn while it lasts is told. Optional ability: `Channel.follow`. */
export type TurnNews =
  | { readonly kind: 'queued' | 'staged' | 'started' | 'thinking' }
  | { readonly kind: 'progress'; readonly note: string }
  | { readonly kind: 'text'; readonly delta: string };

export interface Channel {
  /** The part of a group id before the colon, e.g. `local`. */
  readonly instance: string;
  start(receive: (message: InboundMessage) => Promise<void>): Promise<void>;
  /** Resolves when the network has it. */
  send(message: OutgoingMessage): Promise<void>;
  /**
   * Optional ability. Resolves when the network has the file: with `taken` the host's copy is of no more use, with
   * `shown` it is where the reader finds the file.
   */
  sendFile?(message: OutgoingFile): Promise<'taken' | 'shown'>;
  /** Told about a turn of that chat while it lasts. */
  follow?(chat: GroupId, invocation: string, news: TurnNews): void;
  close(): Promise<void>;
}
