/**
 * The durable queue of chat messages that want an answer. A message is taken in once, by its network id, and is
 * waiting, running under exactly one invocation, or settled.
 */
import type Database from 'better-sqlite3';
import { z } from 'zod';
import { GroupId, type InvocationId, SessionName } from '../domain/ids.ts';
import { InboundMessage } from '../domain/message.ts';

/** Settled messages keep their text this long, for whoever looks into a failure; afterwards only their id is kept. */
const PAYLOAD_KEPT_MS = 7 * 24 * 3600 * 1000;

export interface Waiting {
  readonly group: GroupId;
  readonly session: SessionName;
  /** How many. */
  readonly messages: number;
  /** When the oldest was accepted, in ms since 1970. */
  readonly oldestAt: number;
}

export interface Taken {
  readonly message: InboundMessage;
  /** When it was accepted, in ms since 1970. */
  readonly receivedAt: number;
}

export interface TakeRequest {
  readonly group: GroupId;
  readonly session: SessionName;
  readonly invocation: InvocationId;
  /** Messages at most. */
  readonly max: number;
  /** Their text together, in UTF-16 units; one message is taken however long it is. */
  readonly maxChars?: number;
}

const WaitingRow = z.strictObject({
  group: GroupId,
  session: SessionName,
  messages: z.number().int(),
  oldestAt: z.number(),
});

const PayloadRow = z.strictObject({
  seq: z.number().int(),
  receivedAt: z.number(),
  message: z.string().transform((text) => InboundMessage.parse(JSON.parse(text))),
});

const SELECT_PAYLOAD = 'SELECT seq, received_at AS receivedAt, payload AS message FROM inbound';

export class InboundStore {
  readonly #database: Database.Database;
  readonly #clock: () => number;

  constructor(database: Database.Database, clock: () => number) {
    this.#database = database;
    this.#clock = clock;
  }

  /** Durable when it returns. To be called before the message is written anywhere else. */
  accept(entry: { message: InboundMessage; group: GroupId; session: SessionName }): 'new' | 'duplicate' {
    const { changes } = this.#database
      .prepare(
        `INSERT INTO inbound (chat_id, message_id, group_id, session, payload, received_at)
         VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (chat_id, message_id) DO NOTHING`,
      )
      .run(
        entry.message.chat,
        entry.message.id,
        entry.group,
        entry.session,
        JSON.stringify(entry.message),
        this.#clock(),
      );
    return changes === 1 ? 'new' : 'duplicate';
  }

  /** What waits, per group and session; who has waited longest comes first. */
  waiting(): Waiting[] {
    const rows = this.#database
      .prepare(
        `SELECT group_id AS "group", session, count(*) AS messages, min(received_at) AS oldestAt
         FROM inbound WHERE status = 'waiting' GROUP BY group_id, session ORDER BY min(seq)`,
      )
      .all();
    return z.array(WaitingRow).parse(rows);
  }

  /** The oldest waiting messages, in the order of acceptance, now running under that invocation. */
  take(want: TakeRequest): Taken[] {
    return this.#database
      .transaction(() => {
        const rows = this.#oldestWaiting(want);
        const mark = this.#database.prepare(`UPDATE inbound SET status = 'running', invocation = ? WHERE seq = ?`);
        for (const row of rows) mark.run(want.invocation, row.seq);
        return rows.map(({ message, receivedAt }) => ({ message, receivedAt }));
      })
      .immediate();
  }

  /** Settles whatever runs under that invocation. */
  finish(invocation: InvocationId, status: 'done' | 'failed'): void {
    this.#database
      .prepare(`UPDATE inbound SET status = ? WHERE status = 'running' AND invocation = ?`)
      .run(status, invocation);
    this.#dropOldPayloads();
  }

  /** Back into the queue, at their old places; says how many. */
  requeue(invocation: InvocationId): number {
    return this.#database
      .prepare(`UPDATE inbound SET status = 'waiting', invocation = NULL WHERE status = 'running' AND invocation = ?`)
      .run(invocation).changes;
  }

  /** At start-up, when no invocation can be running any more; says how many. */
  requeueAllRunning(): number {
    return this.#database
      .prepare(`UPDATE inbound SET status = 'waiting', invocation = NULL WHERE status = 'running'`)
      .run().changes;
  }

  /** Waiting and running messages in the order of acceptance. */
  unsettled(): InboundMessage[] {
    const rows = this.#database.prepare(`${SELECT_PAYLOAD} WHERE status IN ('waiting', 'running') ORDER BY seq`).all();
    return z
      .array(PayloadRow)
      .parse(rows)
      .map((row) => row.message);
  }

  #oldestWaiting(want: TakeRequest): z.infer<typeof PayloadRow>[] {
    const { group, session, max, maxChars = Number.POSITIVE_INFINITY } = want;
    const rows = this.#database
      .prepare(`${SELECT_PAYLOAD} WHERE status = 'waiting' AND group_id = ? AND session = ? ORDER BY seq LIMIT ?`)
      .iterate(group, session, max);
    const taken: z.infer<typeof PayloadRow>[] = [];
    let chars = 0;
    for (const row of rows) {
      const parsed = PayloadRow.parse(row);
      chars += parsed.message.text.length;
      if (taken.length > 0 && chars > maxChars) break;
      taken.push(parsed);
    }
    return taken;
  }

  #dropOldPayloads(): void {
    this.#database
      .prepare(
        `UPDATE inbound SET payload = NULL
         WHERE payload IS NOT NULL AND status IN ('done', 'failed') AND received_at < ?`,
      )
      .run(this.#clock() - PAYLOAD_KEPT_MS);
  }
}
