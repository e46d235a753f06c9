/**
 * The durable queue of chat messages that want an answer. A message is taken in once, by its network id, and is
 * waiting, running under exactly one invocation, or settled.
 */
import type Database from 'better-sqlite3';
import { z } from 'zod';
import { GroupId, type InvocationId, SessionName } from '../domain/ids.ts';
import { InboundMessage } from '../domain/message.ts';

/** A message that a turn failed on for a reason that may pass is tried again so often, after 5 s · 2ⁿ (DESIGN §7). */
export interface RetryRule {
  readonly attempts: number;
  readonly firstMs: number;
}

/** Settled messages keep their text this long, for whoever looks into a failure; afterwards only their id is kept. */
const PAYLOAD_KEPT_MS = 7 * 24 * 3600 * 1000;

export interface Waiting {
  readonly group: GroupId;
  readonly session: SessionName;
  /** How many. */
  readonly messages: number;
  /** When the oldest was accepted, in ms since 1970. */
  readonly oldestAt: number;
  /** Some of them were tried in vain: not before this moment (ms since 1970; 0: at once) are they tried again. */
  readonly notBefore: number;
}

export interface Taken {
  readonly message: InboundMessage;
  /** When it was accepted, in ms since 1970. */
  readonly receivedAt: number;
  /** How many turns have failed on it. */
  readonly attempts: number;
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

export interface Acceptance {
  readonly message: InboundMessage;
  readonly group: GroupId;
  readonly session: SessionName;
  /** Messages that may wait in one session. */
  readonly backlog: number;
}

/** What became of a turn's messages. */
export interface Settlement {
  readonly invocation: InvocationId;
  /** Ids of follow-ups that the turn was given and did not take in: they go back, untouched by its fate. */
  readonly untouched: readonly string[];
  readonly outcome:
    | { readonly kind: 'done' | 'failed' | 'requeue' }
    | { readonly kind: 'retry'; readonly rule: RetryRule; readonly error: string }
    | { readonly kind: 'dead'; readonly error: string };
}

const WaitingRow = z.strictObject({
  group: GroupId,
  session: SessionName,
  messages: z.number().int(),
  oldestAt: z.number(),
  notBefore: z.number(),
});

const PayloadRow = z.strictObject({
  seq: z.number().int(),
  receivedAt: z.number(),
  attempts: z.number().int(),
  message: z.string().transform((text) => InboundMessage.parse(JSON.parse(text))),
});

const SELECT_PAYLOAD = 'SELECT seq, received_at AS receivedAt, attempts, payload AS message FROM inbound';

export class InboundStore {
  readonly #database: Database.Database;
  readonly #clock: () => number;

  constructor(database: Database.Database, clock: () => number) {
    this.#database = database;
    this.#clock = clock;
  }

  /**
   * Durable when it returns. To be called before the message is written anywhere else. Beyond `backlog` waiting
   * messages of its session it becomes a dead letter at once: kept, and not in anybody's way.
   */
  accept(entry: Acceptance): 'new' | 'duplicate' | 'overflow' {
    const { message, group, session, backlog } = entry;
    const isFull = this.#countWaiting(group, session) >= backlog;
    const { changes } = this.#database
      .prepare(
        `INSERT INTO inbound (chat_id, message_id, group_id, session, payload, received_at, status, error)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (chat_id, message_id) DO NOTHING`,
      )
      .run(
        ...[message.chat, message.id, group, session, JSON.stringify(message), this.#clock()],
        ...(isFull ? ['dead', `more than ${backlog} messages were waiting`] : ['waiting', null]),
      );
    if (changes === 0) return 'duplicate';
    return isFull ? 'overflow' : 'new';
  }

  /** What waits, per group and session; who has waited longest comes first. */
  waiting(): Waiting[] {
    const rows = this.#database
      .prepare(
        `SELECT group_id AS "group", session, count(*) AS messages, min(received_at) AS oldestAt,
         max(not_before) AS notBefore
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
        return rows.map(({ message, receivedAt, attempts }) => ({ message, receivedAt, attempts }));
      })
      .immediate();
  }

  /** Settles what runs under that invocation, in one transaction; says which messages became dead letters. */
  settle({ invocation, untouched, outcome }: Settlement): number {
    return this.#database
      .transaction(() => {
        this.#release(invocation, untouched);
        const dead = this.#settleRest(invocation, outcome);
        this.#dropOldPayloads();
        return dead;
      })
      .immediate();
  }

  /** At start-up, when no invocation can be running any more; says how many. */
  requeueAllRunning(): number {
    return this.#database
      .prepare(`UPDATE inbound SET status = 'waiting', invocation = NULL WHERE status = 'running'`)
      .run().changes;
  }

  /** Messages that nobody has answered yet, in the order of acceptance. */
  unsettled(): InboundMessage[] {
    const rows = this.#database
      .prepare(`${SELECT_PAYLOAD} WHERE status IN ('waiting', 'running', 'dead') ORDER BY seq`)
      .all();
    return z
      .array(PayloadRow)
      .parse(rows)
      .map((row) => row.message);
  }

  #countWaiting(group: GroupId, session: SessionName): number {
    return z
      .number()
      .parse(
        this.#database
          .prepare(`SELECT count(*) FROM inbound WHERE status = 'waiting' AND group_id = ? AND session = ?`)
          .pluck()
          .get(group, session),
      );
  }

  #release(invocation: InvocationId, ids: readonly string[]): void {
    const release = this.#database.prepare(
      `UPDATE inbound SET status = 'waiting', invocation = NULL
       WHERE status = 'running' AND invocation = ? AND message_id = ?`,
    );
    for (const id of ids) release.run(invocation, id);
  }

  #settleRest(invocation: InvocationId, outcome: Settlement['outcome']): number {
    const running = `WHERE status = 'running' AND invocation = :invocation`;
    switch (outcome.kind) {
      case 'done':
      case 'failed':
        this.#database.prepare(`UPDATE inbound SET status = :kind ${running}`).run({ invocation, kind: outcome.kind });
        return 0;
      case 'requeue':
        this.#database
          .prepare(`UPDATE inbound SET status = 'waiting', invocation = NULL ${running}`)
          .run({ invocation });
        return 0;
      case 'dead':
        return this.#database
          .prepare(`UPDATE inbound SET status = 'dead', error = :error ${running}`)
          .run({ invocation, error: outcome.error }).changes;
      case 'retry':
        return this.#retry(invocation, outcome.rule, outcome.error);
    }
  }

  #retry(invocation: InvocationId, rule: RetryRule, error: string): number {
    const running = `WHERE status = 'running' AND invocation = :invocation`;
    const dead = this.#database
      .prepare(`UPDATE inbound SET status = 'dead', attempts = attempts + 1, error = :error
                ${running} AND attempts >= :attempts`)
      .run({ invocation, error, attempts: rule.attempts }).changes;
    this.#database
      .prepare(`UPDATE inbound SET status = 'waiting', invocation = NULL, error = :error, attempts = attempts + 1,
                not_before = :now + (:firstMs << attempts) ${running}`)
      .run({ invocation, error, now: this.#clock(), firstMs: Math.round(rule.firstMs) });
    return dead;
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
