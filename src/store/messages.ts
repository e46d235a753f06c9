/**
 * The message history that containers get copies of. Numbers count within a chat, so that nothing in a chat's rows
 * shows what goes on in another.
 */
import type Database from 'better-sqlite3';
import { z } from 'zod';
import type { GroupId } from '../domain/ids.ts';
import type { InboundMessage } from '../domain/message.ts';

export interface StoredMessage {
  readonly id: string;
  /** null: sent by us. */
  readonly senderId: string | null;
  readonly senderName: string | null;
  readonly text: string;
  /** ISO 8601, UTC, milliseconds. */
  readonly at: string;
  readonly fromMe: boolean;
  readonly threadId: string | null;
  readonly replyToId: string | null;
}

const Row = z.strictObject({
  id: z.string(),
  senderId: z.string().nullable(),
  senderName: z.string().nullable(),
  text: z.string(),
  at: z.string(),
  fromMe: z.number().transform((flag) => flag === 1),
  threadId: z.string().nullable(),
  replyToId: z.string().nullable(),
});

const Count = z.strictObject({ count: z.number().int() });

const INSERT = `INSERT INTO messages
    (chat_id, seq, id, thread_id, sender_id, sender_name, content, sent_at, is_from_me, reply_to_id)
  SELECT :chat, coalesce(max(seq), 0) + 1, :id, :threadId, :senderId, :senderName, :text, :at, :fromMe, :replyToId
  FROM messages WHERE chat_id = :chat
  ON CONFLICT (chat_id, id) DO NOTHING`;

interface NewMessage extends Omit<StoredMessage, 'fromMe'> {
  readonly chat: GroupId;
  readonly fromMe: 0 | 1;
}

export class MessageStore {
  readonly #database: Database.Database;

  constructor(database: Database.Database) {
    this.#database = database;
  }

  saveChat(chat: { chat: GroupId; name: string; channel: string; isGroup: boolean }): void {
    this.#database
      .prepare(
        `INSERT INTO chats (chat_id, name, channel, is_group) VALUES (:chat, :name, :channel, :isGroup)
         ON CONFLICT (chat_id) DO UPDATE SET name = :name, channel = :channel, is_group = :isGroup`,
      )
      .run({ ...chat, isGroup: chat.isGroup ? 1 : 0 });
  }

  /** False: it was there already. */
  saveInbound(message: InboundMessage): boolean {
    const { chat, id, senderId, senderName, text, at, threadId, replyToId } = message;
    return this.#save({ chat, id, senderId, senderName, text, at: inMs(at), threadId, replyToId, fromMe: 0 });
  }

  /** What we sent. False: it was there already. */
  saveOutgoing(message: { chat: GroupId; text: string; at: string; id: string }): boolean {
    const at = inMs(message.at);
    return this.#save({
      ...message,
      at,
      senderId: null,
      senderName: null,
      threadId: null,
      replyToId: null,
      fromMe: 1,
    });
  }

  count(chat: GroupId): number {
    const row = this.#database.prepare('SELECT count(*) AS count FROM messages WHERE chat_id = ?').get(chat);
    return Count.parse(row).count;
  }

  /** The newest `limit` messages, oldest first. */
  recent(chat: GroupId, limit: number): StoredMessage[] {
    const rows = this.#database
      .prepare(
        `SELECT id, sender_id AS senderId, sender_name AS senderName, content AS text, sent_at AS at,
           is_from_me AS fromMe, thread_id AS threadId, reply_to_id AS replyToId
         FROM messages WHERE chat_id = ? ORDER BY seq DESC LIMIT ?`,
      )
      .all(chat, limit);
    return z.array(Row).parse(rows).reverse();
  }

  /** Grows with every row that this process has written; starts at 0 with it. */
  changes(): number {
    return Count.parse(this.#database.prepare('SELECT total_changes() AS count').get()).count;
  }

  #save(message: NewMessage): boolean {
    return this.#database
      .transaction(() => {
        this.#touchChat(message.chat, message.at);
        return this.#database.prepare(INSERT).run(message).changes === 1;
      })
      .immediate();
  }

  /** A chat that nobody has described yet gets its id for a name. */
  #touchChat(chat: GroupId, at: string): void {
    this.#database
      .prepare(
        `INSERT INTO chats (chat_id, name, channel, is_group, last_message_at) VALUES (:chat, :chat, :channel, 1, :at)
         ON CONFLICT (chat_id) DO UPDATE SET last_message_at = max(coalesce(last_message_at, :at), :at)`,
      )
      .run({ chat, channel: chat.slice(0, chat.indexOf(':')), at });
  }
}

/** One width for all, so that text order is time order. */
const inMs = (at: string): string => new Date(at).toISOString();
