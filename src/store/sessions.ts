/**
 * Conversations' continuity: epochs and transcripts. A transcript is read back by the same group, session and epoch
 * only, and what is read back begins with a user's entry, so that no tool result stands without its call.
 */
import type Database from 'better-sqlite3';
import { z } from 'zod';
import type { GroupId, SessionName } from '../domain/ids.ts';
import { TranscriptEntry } from '../protocol.ts';

/** Kept per session and epoch; a window is far smaller, so what lies beyond would never be read. */
export const TRANSCRIPT_BYTES_MAX = 4 * 1024 * 1024;
/** Kept per session and epoch: bounds the work of pruning where entries are tiny. */
export const TRANSCRIPT_ENTRIES_MAX = 10_000;

const FIRST_EPOCH = 1;

export interface SessionKey {
  readonly group: GroupId;
  readonly session: SessionName;
}

const EpochRow = z.strictObject({ epoch: z.number().int() });
const EntryRow = z.strictObject({
  entry: z.string().transform((text) => TranscriptEntry.parse(JSON.parse(text))),
  bytes: z.number().int(),
});

export class SessionStore {
  readonly #database: Database.Database;

  constructor(database: Database.Database) {
    this.#database = database;
  }

  epoch(group: GroupId, session: SessionName): number {
    const row = this.#database
      .prepare('SELECT epoch FROM sessions WHERE group_id = ? AND name = ?')
      .get(group, session);
    return row === undefined ? FIRST_EPOCH : EpochRow.parse(row).epoch;
  }

  /** Ends the session: from now on its transcript is empty; the old one stays in the database and is never resumed. */
  startEpoch(group: GroupId, session: SessionName): number {
    this.#database
      .prepare(
        `INSERT INTO sessions (group_id, name, epoch) VALUES (?, ?, ?)
         ON CONFLICT (group_id, name) DO UPDATE SET epoch = epoch + 1`,
      )
      .run(group, session, FIRST_EPOCH + 1);
    return this.epoch(group, session);
  }

  /** All entries or none; the oldest beyond the bounds are dropped. */
  appendTranscript(part: SessionKey & { readonly entries: readonly TranscriptEntry[] }): void {
    this.#database
      .transaction(() => {
        const epoch = this.epoch(part.group, part.session);
        const insert = this.#database.prepare(
          `INSERT INTO transcripts (group_id, session, epoch, seq, entry, bytes)
           SELECT :group, :session, :epoch, coalesce(max(seq), 0) + 1, :entry, :bytes
           FROM transcripts WHERE group_id = :group AND session = :session AND epoch = :epoch`,
        );
        for (const entry of part.entries.map((each) => JSON.stringify(each))) {
          insert.run({
            group: part.group,
            session: part.session,
            epoch,
            entry,
            bytes: Buffer.byteLength(entry),
          });
        }
        this.#prune(part.group, part.session, epoch);
      })
      .immediate();
  }

  /**
   * The newest entries, oldest first: at most `maxEntries`, at most `maxBytes` of their JSON together, beginning with a
   * user's entry; empty where no such window exists.
   */
  transcript(want: SessionKey & { readonly maxBytes: number; readonly maxEntries: number }): TranscriptEntry[] {
    const rows = this.#database
      .prepare(
        `SELECT entry, bytes FROM transcripts WHERE group_id = ? AND session = ? AND epoch = ?
         ORDER BY seq DESC LIMIT ?`,
      )
      .iterate(want.group, want.session, this.epoch(want.group, want.session), want.maxEntries);
    const newestFirst: TranscriptEntry[] = [];
    let bytes = 0;
    for (const row of rows) {
      const parsed = EntryRow.parse(row);
      bytes += parsed.bytes;
      if (bytes > want.maxBytes) break;
      newestFirst.push(parsed.entry);
    }
    const oldestUser = newestFirst.findLastIndex((entry) => entry.role === 'user');
    return newestFirst.slice(0, oldestUser + 1).reverse();
  }

  #prune(group: GroupId, session: SessionName, epoch: number): void {
    this.#database
      .prepare(
        `DELETE FROM transcripts WHERE group_id = :group AND session = :session AND epoch = :epoch AND seq <= (
           SELECT max(seq) FROM (
             SELECT seq, sum(bytes) OVER newest AS total, row_number() OVER newest AS place FROM transcripts
             WHERE group_id = :group AND session = :session AND epoch = :epoch
             WINDOW newest AS (ORDER BY seq DESC ROWS UNBOUNDED PRECEDING))
           WHERE total > :maxBytes OR place > :maxEntries)`,
      )
      .run({ group, session, epoch, maxBytes: TRANSCRIPT_BYTES_MAX, maxEntries: TRANSCRIPT_ENTRIES_MAX });
  }
}
