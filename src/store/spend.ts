/**
 * What each group has used of its model budget: requests of the last minute, requests, tokens and money of each UTC
 * day. The counts that caps are compared with are in memory, read once; the supervisor is the only one who counts. The
 * invariant: what was counted is in memory at once and never forgotten there, so no number of parallel requests goes
 * beyond a cap; `write` brings all of it into the database, or none of it. What a crash finds unwritten is lost.
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

const NOTHING: Amount = { inputTokens: 0, outputTokens: 0, nanoUsd: 0 };

const plus = (a: Amount, b: Amount): Amount => ({
  inputTokens: a.inputTokens + b.inputTokens,
  outputTokens: a.outputTokens + b.outputTokens,
  nanoUsd: a.nanoUsd + b.nanoUsd,
});

const minus = (a: Amount, b: Amount): Amount => ({
  inputTokens: a.inputTokens - b.inputTokens,
  outputTokens: a.outputTokens - b.outputTokens,
  nanoUsd: a.nanoUsd - b.nanoUsd,
});

/** YYYY-MM-DD, UTC. */
const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

const SELECT = `SELECT group_id AS "group", day, requests, input_tokens AS inputTokens, output_tokens AS outputTokens,
  nano_usd AS nanoUsd FROM spend_days`;

const prepare = (database: Database.Database) => ({
  clock: database.prepare('SELECT at_ms AS at FROM spend_clock'),
  setClock: database.prepare(
    'INSERT INTO spend_clock (one, at_ms) VALUES (1, :now) ON CONFLICT DO UPDATE SET at_ms = max(at_ms, :now)',
  ),
  recent: database.prepare('SELECT at_ms AS at FROM spend_requests WHERE group_id = :group ORDER BY seq'),
  note: database.prepare(
    `INSERT INTO spend_requests (group_id, seq, at_ms)
     SELECT :group, coalesce(max(seq), 0) + 1, :at FROM spend_requests WHERE group_id = :group`,
  ),
  forget: database.prepare('DELETE FROM spend_requests WHERE group_id = :group AND at_ms <= :until'),
  day: database.prepare(`${SELECT} WHERE group_id = :group AND day = :day`),
  days: database.prepare(`${SELECT} WHERE day >= :since ORDER BY group_id, day DESC`),
  add: database.prepare(
    `INSERT INTO spend_days (group_id, day, requests, input_tokens, output_tokens, nano_usd)
     VALUES (:group, :day, :requests, max(0, :inputTokens), max(0, :outputTokens), max(0, :nanoUsd))
     ON CONFLICT DO UPDATE SET requests = requests + :requests,
       input_tokens = max(0, input_tokens + :inputTokens), output_tokens = max(0, output_tokens + :outputTokens),
       nano_usd = max(0, nano_usd + :nanoUsd)`,
  ),
});

/** One group's, as its next request is compared with it. */
interface Tally {
  readonly dayNumber: number;
  readonly day: string;
  used: Amount;
  /** Requests of the last minute, oldest first; times of the steady clock. */
  readonly times: number[];
}

interface Note {
  readonly group: GroupId;
  readonly at: number;
}

export class SpendStore {
  readonly #sql: ReturnType<typeof prepare>;
  readonly #now: () => number;
  readonly #writeAll: Database.Transaction<() => void>;
  readonly #tallies = new Map<GroupId, Tally>();
  /** By group and day. */
  readonly #changes = new Map<string, SpentDay>();
  #notes: Note[] = [];

  constructor(database: Database.Database, clocks: Clocks) {
    this.#sql = prepare(database);
    const seen = this.#sql.clock.get();
    this.#now = steadyClock(clocks, seen === undefined ? 0 : At.parse(seen).at);
    this.#writeAll = database.transaction(() => this.#writeRows());
  }

  /** Counts the request with all that it may use, or says which cap is in the way longest. */
  reserve({ group, caps, amount }: SpendAsk): SpendAnswer {
    const now = this.#now();
    const tally = this.#tallyOf(group, now);
    const { used, times, day } = tally;
    const over = overDay(used, caps, amount);
    if (over !== null) return { ok: false, over, waitMs: DAY_MS - (now % DAY_MS), used };
    while (times[0] !== undefined && times[0] <= now - MINUTE_MS) times.shift();
    // It has to be a minute old before the next request may be made; those before it are older still.
    const blocking = times[times.length - caps.requestsPerMinute];
    if (blocking !== undefined)
      return { ok: false, over: 'requestsPerMinute', waitMs: blocking + MINUTE_MS - now, used };
    times.push(now);
    this.#notes.push({ group, at: now });
    tally.used = plus(used, amount);
    this.#change({ group, day, requests: 1, ...amount });
    return { ok: true, day };
  }

  /** Puts what was used in the place of what was reserved; once per reservation. */
  settle({ group, day, reserved, used }: SpendSettlement): void {
    const difference = minus(used, reserved);
    const tally = this.#tallies.get(group);
    if (tally?.day === day) tally.used = plus(tally.used, difference);
    this.#change({ group, day, requests: 0, ...difference });
  }

  /** True where nothing was counted since the last `write`. */
  isWritten(): boolean {
    return this.#changes.size === 0;
  }

  /** Writes down all that was counted, in one transaction. Throws where that fails; then it is all still to be written. */
  write(): void {
    if (this.isWritten()) return;
    this.#writeAll.immediate();
    this.#changes.clear();
    this.#notes = [];
  }

  /** The day that budgets are in. */
  today(): string {
    return dayOf(this.#now());
  }

  /** As written: the last so many days, today among them: by group, newest first; a day without requests has no row. */
  days(count: number): SpentDay[] {
    const since = dayOf(this.#now() - (count - 1) * DAY_MS);
    return z.array(Day).parse(this.#sql.days.all({ since }));
  }

  #tallyOf(group: GroupId, now: number): Tally {
    const dayNumber = Math.floor(now / DAY_MS);
    const known = this.#tallies.get(group);
    if (known?.dayNumber === dayNumber) return known;
    const day = dayOf(now);
    const row = this.#sql.day.get({ group, day });
    const tally: Tally = {
      dayNumber,
      day,
      used: row === undefined ? NOTHING : Day.parse(row),
      times: known?.times ?? this.#sql.recent.all({ group }).map((one) => At.parse(one).at),
    };
    this.#tallies.set(group, tally);
    return tally;
  }

  #change(change: SpentDay): void {
    const key = `${change.day} ${change.group}`;
    const before = this.#changes.get(key);
    if (before === undefined) this.#changes.set(key, change);
    else this.#changes.set(key, { ...change, ...plus(before, change), requests: before.requests + change.requests });
  }

  #writeRows(): void {
    const now = this.#now();
    for (const change of this.#changes.values()) {
      this.#sql.add.run(change);
      this.#sql.forget.run({ group: change.group, until: now - MINUTE_MS });
    }
    for (const note of this.#notes) this.#sql.note.run(note);
    this.#sql.setClock.run({ now });
  }
}

/** A day lasts longer than a minute, so its caps come first. */
const overDay = (used: Amount, caps: SpendCaps, amount: Amount): SpendCap | null => {
  const tokens = used.inputTokens + used.outputTokens + amount.inputTokens + amount.outputTokens;
  if (caps.tokensPerDay !== null && tokens > caps.tokensPerDay) return 'tokensPerDay';
  const nanoUsd = used.nanoUsd + amount.nanoUsd;
  return caps.usdPerDay !== null && nanoUsd > caps.usdPerDay * NANO_USD_PER_USD ? 'usdPerDay' : null;
};
