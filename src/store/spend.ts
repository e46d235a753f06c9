/**
 * What each group has used of its model budget: requests of the last minute, requests, tokens and money of each UTC
 * day. The invariant: what a request may use is written down before it is made, in one transaction with the comparison,
 * so neither parallel requests nor a crash can go beyond a cap.
 */
import type Database from 'better-sqlite3';
import { z } from 'zod';
import { GroupId } from '../domain/ids.ts';
import { type Amount, NANO_USD_PER_USD } from '../domain/prices.ts';
import { type Clocks, steadyClock } from './spend-clock.ts';

/** null: no cap. */
export interface SpendCaps {
  readonly requestsPerMinute: number;
  readonly tokensPerDay: number | null;
  readonly usdPerDay: number | null;
}

export type SpendCap = keyof SpendCaps;

export interface SpendAsk {
  readonly group: GroupId;
  readonly caps: SpendCaps;
  /** All that the request may use. */
  readonly amount: Amount;
}

export type SpendAnswer =
  /** The day on which it is counted. */
  | { readonly ok: true; readonly day: string }
  /** Which cap it would go beyond, and how long that cap will stand in the way by itself. */
  | { readonly ok: false; readonly over: SpendCap; readonly waitMs: number; readonly used: Amount };

export interface SpendSettlement {
  readonly group: GroupId;
  readonly day: string;
  readonly reserved: Amount;
  readonly used: Amount;
}

export interface SpentDay extends Amount {
  readonly group: GroupId;
  /** YYYY-MM-DD, UTC. */
  readonly day: string;
  readonly requests: number;
}

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

const Day = z.strictObject({
  group: GroupId,
  day: z.iso.date(),
  requests: z.number(),
  inputTokens: z.number(),
  outputTokens: z.number(),
  nanoUsd: z.number(),
});
const At = z.strictObject({ at: z.number() });
const Seq = z.strictObject({ seq: z.number().nullable() });

const NOTHING: Amount = { inputTokens: 0, outputTokens: 0, nanoUsd: 0 };

/** YYYY-MM-DD, UTC. */
const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

const SELECT = `SELECT group_id AS "group", day, requests, input_tokens AS inputTokens, output_tokens AS outputTokens,
  nano_usd AS nanoUsd FROM spend_days`;

const prepare = (database: Database.Database) => ({
  clock: database.prepare('SELECT at_ms AS at FROM spend_clock'),
  setClock: database.prepare(
    'INSERT INTO spend_clock (one, at_ms) VALUES (1, :now) ON CONFLICT DO UPDATE SET at_ms = max(at_ms, :now)',
  ),
  newest: database.prepare('SELECT max(seq) AS seq FROM spend_requests WHERE group_id = :group'),
  request: database.prepare('SELECT at_ms AS at FROM spend_requests WHERE group_id = :group AND seq = :seq'),
  note: database.prepare('INSERT INTO spend_requests (group_id, seq, at_ms) VALUES (:group, :seq, :now)'),
  forget: database.prepare('DELETE FROM spend_requests WHERE group_id = :group AND seq <= :seq'),
  day: database.prepare(`${SELECT} WHERE group_id = :group AND day = :day`),
  days: database.prepare(`${SELECT} WHERE day >= :since ORDER BY group_id, day DESC`),
  add: database.prepare(
    `INSERT INTO spend_days (group_id, day, requests, input_tokens, output_tokens, nano_usd)
     VALUES (:group, :day, 1, :inputTokens, :outputTokens, :nanoUsd)
     ON CONFLICT DO UPDATE SET requests = requests + 1, input_tokens = input_tokens + :inputTokens,
       output_tokens = output_tokens + :outputTokens, nano_usd = nano_usd + :nanoUsd`,
  ),
  change: database.prepare(
    `UPDATE spend_days SET input_tokens = max(0, input_tokens + :inputTokens),
       output_tokens = max(0, output_tokens + :outputTokens), nano_usd = max(0, nano_usd + :nanoUsd)
     WHERE group_id = :group AND day = :day`,
  ),
});

export class SpendStore {
  readonly #sql: ReturnType<typeof prepare>;
  readonly #now: () => number;
  readonly #reserve: Database.Transaction<(ask: SpendAsk) => SpendAnswer>;

  constructor(database: Database.Database, clocks: Clocks) {
    this.#sql = prepare(database);
    const seen = this.#sql.clock.get();
    this.#now = steadyClock(clocks, seen === undefined ? 0 : At.parse(seen).at);
    this.#reserve = database.transaction((ask) => this.#compareAndAdd(ask));
  }

  /** Counts the request with all that it may use, or says which cap is in the way longest. */
  reserve(ask: SpendAsk): SpendAnswer {
    return this.#reserve.immediate(ask);
  }

  /** Puts what was used in the place of what was reserved; once per reservation. */
  settle({ group, day, reserved, used }: SpendSettlement): void {
    this.#sql.change.run({
      group,
      day,
      inputTokens: used.inputTokens - reserved.inputTokens,
      outputTokens: used.outputTokens - reserved.outputTokens,
      nanoUsd: used.nanoUsd - reserved.nanoUsd,
    });
  }

  /** The day that budgets are in. */
  today(): string {
    return dayOf(this.#now());
  }

  /** The last so many days, today among them: by group, newest first; a day without requests has no row. */
  days(count: number): SpentDay[] {
    const since = dayOf(this.#now() - (count - 1) * DAY_MS);
    return z.array(Day).parse(this.#sql.days.all({ since }));
  }

  #compareAndAdd({ group, caps, amount }: SpendAsk): SpendAnswer {
    const now = this.#now();
    const day = dayOf(now);
    const row = this.#sql.day.get({ group, day });
    const used = row === undefined ? NOTHING : Day.parse(row);
    const over = overDay(used, caps, amount);
    if (over !== null) return { ok: false, over, waitMs: DAY_MS - (now % DAY_MS), used };
    const newest = Seq.parse(this.#sql.newest.get({ group })).seq ?? 0;
    // It has to be a minute old before the next request may be made; those before it are older still.
    const last = newest - caps.requestsPerMinute + 1;
    const blocking = this.#sql.request.get({ group, seq: last });
    const waitMs = blocking === undefined ? 0 : At.parse(blocking).at + MINUTE_MS - now;
    if (waitMs > 0) return { ok: false, over: 'requestsPerMinute', waitMs, used };
    this.#sql.forget.run({ group, seq: last });
    this.#sql.note.run({ group, seq: newest + 1, now });
    this.#sql.add.run({ group, day, ...amount });
    this.#sql.setClock.run({ now });
    return { ok: true, day };
  }
}

/** A day lasts longer than a minute, so its caps come first. */
const overDay = (used: Amount, caps: SpendCaps, amount: Amount): SpendCap | null => {
  const tokens = used.inputTokens + used.outputTokens + amount.inputTokens + amount.outputTokens;
  if (caps.tokensPerDay !== null && tokens > caps.tokensPerDay) return 'tokensPerDay';
  const nanoUsd = used.nanoUsd + amount.nanoUsd;
  return caps.usdPerDay !== null && nanoUsd > caps.usdPerDay * NANO_USD_PER_USD ? 'usdPerDay' : null;
};
