/** Records of turns, which outlive their containers. The first end of an invocation stands; nothing changes it later. */
import type Database from 'better-sqlite3';
import { z } from 'zod';
import { GroupId, InvocationId, SessionName } from '../domain/ids.ts';
import {
  END_REASONS,
  type EndReason,
  type InvocationRecord,
  type InvocationState,
  type Timings,
} from '../domain/invocation.ts';
import { TierName } from '../domain/tiers.ts';
import { AppError } from '../errors.ts';

const Ms = z.number().nullable();

const Row = z
  .strictObject({
    id: InvocationId,
    group: GroupId,
    session: SessionName,
    tier: TierName,
    agent: z.string(),
    state: z.enum(['staging', 'starting', 'running', 'stopping', 'ended']),
    reason: z.enum(END_REASONS).nullable(),
    detail: z.string().nullable(),
    queuedMs: Ms,
    stagedMs: Ms,
    startedMs: Ms,
    firstModelRequestMs: Ms,
    totalMs: Ms,
    createdAt: z.iso.datetime(),
  })
  .transform(
    ({ queuedMs, stagedMs, startedMs, firstModelRequestMs, totalMs, ...row }): InvocationRecord => ({
      ...row,
      timings: { queuedMs, stagedMs, startedMs, firstModelRequestMs, totalMs },
    }),
  );

const SELECT = `SELECT id, group_id AS "group", session, tier, agent, state, reason, detail, queued_ms AS queuedMs,
  staged_ms AS stagedMs, started_ms AS startedMs, first_model_request_ms AS firstModelRequestMs, total_ms AS totalMs,
  created_at AS createdAt FROM invocations`;

/** A point once reached is not taken back by a later null. */
const SET_TIMINGS = `queued_ms = coalesce(:queuedMs, queued_ms), staged_ms = coalesce(:stagedMs, staged_ms),
  started_ms = coalesce(:startedMs, started_ms), total_ms = coalesce(:totalMs, total_ms),
  first_model_request_ms = coalesce(:firstModelRequestMs, first_model_request_ms)`;

const NOT_REACHED: Timings = {
  queuedMs: null,
  stagedMs: null,
  startedMs: null,
  firstModelRequestMs: null,
  totalMs: null,
};

export class InvocationStore {
  readonly #database: Database.Database;

  constructor(database: Database.Database) {
    this.#database = database;
  }

  create(record: InvocationRecord): void {
    const { timings, ...columns } = record;
    this.#database
      .prepare(
        `INSERT INTO invocations (id, group_id, session, tier, agent, state, reason, detail, created_at,
           queued_ms, staged_ms, started_ms, first_model_request_ms, total_ms)
         VALUES (:id, :group, :session, :tier, :agent, :state, :reason, :detail, :createdAt,
           :queuedMs, :stagedMs, :startedMs, :firstModelRequestMs, :totalMs)`,
      )
      .run({ ...columns, ...timings });
  }

  /** Sets what is given; changes nothing once the invocation has ended. Throws AppError `not-found`. */
  update(id: InvocationId, change: { state?: InvocationState; timings?: Partial<Timings> }): void {
    const { changes } = this.#database
      .prepare(
        `UPDATE invocations SET state = coalesce(:state, state), ${SET_TIMINGS} WHERE id = :id AND state <> 'ended'`,
      )
      .run({ id, state: change.state ?? null, ...NOT_REACHED, ...change.timings });
    if (changes === 0) this.#mustExist(id);
  }

  /** The first call counts; a later one changes nothing. Throws AppError `not-found`. */
  end(id: InvocationId, end: { reason: EndReason; detail: string | null; timings: Partial<Timings> }): void {
    const { changes } = this.#database
      .prepare(
        `UPDATE invocations SET state = 'ended', reason = :reason, detail = :detail, ${SET_TIMINGS}
         WHERE id = :id AND state <> 'ended'`,
      )
      .run({ id, reason: end.reason, detail: end.detail, ...NOT_REACHED, ...end.timings });
    if (changes === 0) this.#mustExist(id);
  }

  get(id: InvocationId): InvocationRecord | null {
    const row = this.#database.prepare(`${SELECT} WHERE id = ?`).get(id);
    return row === undefined ? null : Row.parse(row);
  }

  /** Newest first. */
  list(want: { limit: number; group?: GroupId | undefined }): InvocationRecord[] {
    const rows = this.#database
      .prepare(`${SELECT} WHERE :group IS NULL OR group_id = :group ORDER BY id DESC LIMIT :limit`)
      .all({ group: want.group ?? null, limit: want.limit });
    return z.array(Row).parse(rows);
  }

  /** Oldest first; at start-up these are what a crash left behind. */
  unfinished(): InvocationRecord[] {
    return z.array(Row).parse(this.#database.prepare(`${SELECT} WHERE state <> 'ended' ORDER BY id`).all());
  }

  #mustExist(id: InvocationId): void {
    if (this.get(id) !== null) return;
    throw new AppError({
      code: 'not-found',
      message: `there is no invocation ${id}`,
      hint: 'see what runs: tierclaw status',
    });
  }
}
