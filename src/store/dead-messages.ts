/**
 * Chat messages that no turn could answer: kept until the operator has them tried again or gives them up. A view of the
 * inbound queue; a message is in it or in the queue, never in both.
 */
import type Database from 'better-sqlite3';
import { z } from 'zod';
import { GroupId, SessionName } from '../domain/ids.ts';
import { InboundMessage } from '../domain/message.ts';

const DeadRow = z.strictObject({
  seq: z.number().int(),
  group: GroupId,
  session: SessionName,
  invocation: z.string().nullable(),
  receivedAt: z.number(),
  attempts: z.number().int(),
  error: z.string().nullable(),
  message: z.string().transform((text) => InboundMessage.parse(JSON.parse(text))),
});
/** A message that nobody will answer unless the operator says so. `seq` is its number. */
export type DeadMessage = z.infer<typeof DeadRow>;

const SELECT_DEAD = `SELECT seq, group_id AS "group", session, invocation, received_at AS receivedAt, attempts, error,
  payload AS message FROM inbound WHERE status = 'dead' AND payload IS NOT NULL`;

export class DeadMessageStore {
  readonly #database: Database.Database;

  constructor(database: Database.Database) {
    this.#database = database;
  }

  /** Dead letters, oldest first. */
  list(): DeadMessage[] {
    const rows = this.#database.prepare(`${SELECT_DEAD} ORDER BY seq`).all();
    return z.array(DeadRow).parse(rows);
  }

  /** Back into the queue with all its attempts. False: there is no such dead letter. */
  replay(seq: number): boolean {
    return (
      this.#database
        .prepare(
          `UPDATE inbound SET status = 'waiting', invocation = NULL, attempts = 0, not_before = 0
           WHERE status = 'dead' AND seq = ?`,
        )
        .run(seq).changes === 1
    );
  }

  /** Settled for good, unanswered; its text stays in the chat's history. False: there is no such dead letter. */
  drop(seq: number): boolean {
    return (
      this.#database.prepare(`UPDATE inbound SET status = 'failed' WHERE status = 'dead' AND seq = ?`).run(seq)
        .changes === 1
    );
  }
}
