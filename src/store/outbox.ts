/**
 * Outgoing chat messages: written here before they are sent, marked after. A message that can't be sent is retried
 * with growing delays and then kept as a dead letter; it is never dropped.
 */
import type Database from 'better-sqlite3';
import { monotonicFactory } from 'ulid';
import { z } from 'zod';
import { GroupId } from '../domain/ids.ts';
import { SentFile } from '../domain/message.ts';
import { AppError } from '../errors.ts';

/** Retries after the first attempt; the delay before retry n (from 0) is RETRY_BASE_MS · 2ⁿ. */
export const RETRIES_MAX = 5;
export const RETRY_BASE_MS = 5000;

export interface OutboxRow {
  readonly id: string;
  readonly invocation: string | null;
  readonly chat: GroupId;
  readonly text: string;
  /** What goes with it; the text is its caption then. */
  readonly file: SentFile | null;
  readonly status: 'pending' | 'sent' | 'dead';
  /** Attempts that failed. */
  readonly attempts: number;
  readonly createdAt: string;
  /** Not to be tried before; ISO 8601, UTC. */
  readonly nextAt: string;
  readonly sentAt: string | null;
  /** Why the last attempt failed. */
  readonly error: string | null;
}

const Row = z.strictObject({
  id: z.string(),
  invocation: z.string().nullable(),
  chat: GroupId,
  text: z.string(),
  file: z
    .string()
    .nullable()
    .transform((json): unknown => (json === null ? null : JSON.parse(json)))
    .pipe(SentFile.nullable()),
  status: z.enum(['pending', 'sent', 'dead']),
  attempts: z.number().int(),
  createdAt: z.iso.datetime(),
  nextAt: z.iso.datetime(),
  sentAt: z.iso.datetime().nullable(),
  error: z.string().nullable(),
});

const SELECT = `SELECT id, invocation, chat_id AS chat, text, file, status, attempts, created_at AS createdAt,
  next_at AS nextAt, sent_at AS sentAt, error FROM outbox`;

export class OutboxStore {
  readonly #database: Database.Database;
  readonly #clock: () => number;
  readonly #nextId = monotonicFactory();

  constructor(database: Database.Database, clock: () => number) {
    this.#database = database;
    this.#clock = clock;
  }

  /** A ULID; ids of one process sort in the order of adding. */
  add(message: { invocation: string | null; chat: GroupId; text: string; file?: SentFile | undefined }): string {
    const id = this.#nextId(this.#clock());
    const now = iso(this.#clock());
    this.#database
      .prepare(
        `INSERT INTO outbox (id, invocation, chat_id, text, file, created_at, next_at)
         VALUES (:id, :invocation, :chat, :text, :file, :now, :now)`,
      )
      .run({ id, ...message, file: message.file === undefined ? null : JSON.stringify(message.file), now });
    return id;
  }

  markSent(id: string): void {
    this.#pending(id);
    this.#database
      .prepare(`UPDATE outbox SET status = 'sent', sent_at = ?, error = NULL WHERE id = ?`)
      .run(iso(this.#clock()), id);
  }

  /** Counts the attempt; says whether it will be retried (at `nextAt`) or is a dead letter now. */
  markFailed(id: string, error: string): 'pending' | 'dead' {
    const { attempts } = this.#pending(id);
    const status = attempts >= RETRIES_MAX ? 'dead' : 'pending';
    this.#database
      .prepare('UPDATE outbox SET status = ?, attempts = ?, error = ?, next_at = ? WHERE id = ?')
      .run(status, attempts + 1, error, iso(this.#clock() + RETRY_BASE_MS * 2 ** attempts), id);
    return status;
  }

  /** All that are still to be sent, oldest first, those whose `nextAt` lies ahead included. */
  pending(): OutboxRow[] {
    return this.#list('pending');
  }

  dead(): OutboxRow[] {
    return this.#list('dead');
  }

  /** A dead letter becomes pending again, with all its retries. Throws AppError `not-found`. */
  replay(id: string): void {
    const { changes } = this.#database
      .prepare(`UPDATE outbox SET status = 'pending', attempts = 0, next_at = ? WHERE id = ? AND status = 'dead'`)
      .run(iso(this.#clock()), id);
    if (changes === 0) throw missing(id, 'dead');
  }

  /** Given up for good; its text stays in the chat's history. False: there is no such dead letter. */
  drop(id: string): boolean {
    return this.#database.prepare(`DELETE FROM outbox WHERE id = ? AND status = 'dead'`).run(id).changes === 1;
  }

  #list(status: 'pending' | 'dead'): OutboxRow[] {
    return z.array(Row).parse(this.#database.prepare(`${SELECT} WHERE status = '${status}' ORDER BY id`).all());
  }

  #pending(id: string): OutboxRow {
    const row = this.#database.prepare(`${SELECT} WHERE id = ? AND status = 'pending'`).get(id);
    if (row === undefined) throw missing(id, 'pending');
    return Row.parse(row);
  }
}

const missing = (id: string, status: string): AppError =>
  new AppError({ code: 'not-found', message: `there is no ${status} message ${id} in the outbox` });

const iso = (ms: number): string => new Date(ms).toISOString();
