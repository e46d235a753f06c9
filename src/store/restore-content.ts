/**
 * What a backup doesn't know, as far as the other database does. Of the queue: whatever may have been answered since
 * becomes a dead letter, which the operator replays or drops. Of the history: what the queue still has is put back.
 */
import Database from 'better-sqlite3';
import { z } from 'zod';
import { GroupId } from '../domain/ids.ts';
import { InboundMessage } from '../domain/message.ts';
import type { Home } from '../home.ts';
import { inspectDatabase } from './inspect.ts';
import { MessageStore } from './messages.ts';
import { BUSY_TIMEOUT_MS } from './patience.ts';

export interface RestoredContent {
  readonly home: Home;
  /** Open, up to date, not in its place yet. */
  readonly database: Database.Database;
  /** When the backup was made, ms since 1970. */
  readonly sinceMs: number;
}

/** Networks date messages by clocks of their own. */
const SLACK_MS = 3_600_000;

/** null: it can't be read, so nothing can be taken from it. */
const readOther = <T>(name: 'state' | 'messages', file: string, read: (database: Database.Database) => T): T | null => {
  if (inspectDatabase(name, file).kind !== 'whole') return null;
  const database = new Database(file, { readonly: true, fileMustExist: true, timeout: BUSY_TIMEOUT_MS });
  try {
    return read(database);
  } finally {
    database.close();
  }
};

const LATE_MESSAGES = `WITH answered AS (SELECT chat_id, max(seq) AS seq FROM messages WHERE is_from_me = 1 GROUP BY chat_id)
  SELECT m.chat_id AS chat, m.id, m.sender_id AS senderId, m.sender_name AS senderName, m.content AS text,
    m.sent_at AS at, m.thread_id AS threadId, m.reply_to_id AS replyToId
  FROM messages m LEFT JOIN answered a ON a.chat_id = m.chat_id
  WHERE m.is_from_me = 0 AND m.sent_at >= :since AND m.seq > coalesce(a.seq, 0) ORDER BY m.sent_at`;

/** Came in after the backup, and nothing was said in their chat since: probably never answered. */
const lateMessages = ({ home, sinceMs }: RestoredContent): InboundMessage[] => {
  const since = new Date(sinceMs - SLACK_MS).toISOString();
  const read = (history: Database.Database) => history.prepare(LATE_MESSAGES).all({ since });
  return z.array(InboundMessage).parse(readOther('messages', home.messageDatabase, read) ?? []);
};

/** Says how many messages and replies are dead letters now that weren't. */
export const shelveQueue = (content: RestoredContent): number => {
  const { database, sinceMs } = content;
  const late = lateMessages(content);
  const backup = `the backup of ${new Date(sinceMs).toISOString()} was restored`;
  const error = `${backup}; this may have been answered or sent since`;
  const add = database.prepare(
    `INSERT INTO inbound (chat_id, message_id, group_id, session, payload, received_at, status, error)
     SELECT :chat, :id, :chat, 'default', :payload, :at, 'dead', :error
     WHERE EXISTS (SELECT 1 FROM groups WHERE id = :chat) ON CONFLICT (chat_id, message_id) DO NOTHING`,
  );
  return database
    .transaction(() => {
      const messages = database
        .prepare(`UPDATE inbound SET status = 'dead', error = ? WHERE status IN ('waiting', 'running')`)
        .run(error).changes;
      const replies = database
        .prepare(`UPDATE outbox SET status = 'dead', error = ? WHERE status = 'pending'`)
        .run(error).changes;
      database
        .prepare(`UPDATE invocations SET state = 'ended', reason = 'failed', detail = ? WHERE state <> 'ended'`)
        .run(`its end is not known: ${backup}`);
      const added = late.map((message) =>
        add.run({
          chat: message.chat,
          id: message.id,
          payload: JSON.stringify(message),
          at: Date.parse(message.at),
          error: `${backup}; this came in later and seems not to have been answered`,
        }),
      );
      return messages + replies + added.reduce((sum, { changes }) => sum + changes, 0);
    })
    .immediate();
};

const Kept = z.strictObject({
  receivedAt: z.number(),
  message: z.string().transform((text) => InboundMessage.parse(JSON.parse(text))),
});
const Sent = z.strictObject({ id: z.string(), chat: GroupId, text: z.string(), at: z.iso.datetime() });

/** Every message whose text the queue still has (a week), and what we said since the backup. */
const keptByState = (home: Home, since: string) =>
  readOther('state', home.stateDatabase, (state) => ({
    received: z
      .array(Kept)
      .parse(
        state
          .prepare('SELECT received_at AS receivedAt, payload AS message FROM inbound WHERE payload IS NOT NULL')
          .all(),
      ),
    sent: z.array(Sent).parse(
      state
        .prepare(
          `SELECT id, chat_id AS chat, created_at AS at,
             ltrim(text || coalesce(char(10) || '[file "' || (file ->> 'name') || '"]', ''), char(10)) AS text
           FROM outbox WHERE created_at >= ?`,
        )
        .all(since),
    ),
  }));

/** Says how many messages were put back, in the order in which they had come and gone. */
export const refillHistory = ({ home, database, sinceMs }: RestoredContent): number => {
  const since = new Date(sinceMs - SLACK_MS).toISOString();
  const { received, sent } = keptByState(home, since) ?? { received: [], sent: [] };
  const store = new MessageStore(database);
  const saves = [
    ...received.map(({ receivedAt, message }) => ({ atMs: receivedAt, save: () => store.saveInbound(message) })),
    ...sent.map((message) => ({ atMs: Date.parse(message.at), save: () => store.saveOutgoing(message) })),
  ].sort((a, b) => a.atMs - b.atMs);
  return database.transaction(() => saves.filter(({ save }) => save()).length).immediate();
};
