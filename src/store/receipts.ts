/**
 * What a turn did: its tool calls as the container claims them, its use of the model as the gateway counted it.
 * Bounded: of one turn the first 500 calls are kept, whatever the container prints.
 */
import type Database from 'better-sqlite3';
import { z } from 'zod';
import type { InvocationId } from '../domain/ids.ts';

/** A turn of an honest agent makes some dozens. */
export const RECEIPTS_MAX = 500;

export interface Receipt {
  readonly tool: string;
  /** SHA-256 of the arguments' JSON, hex. */
  readonly argumentsDigest: string;
  readonly outcome: 'ok' | 'error' | 'cancelled';
}

const Kept = z.strictObject({
  seq: z.number().int(),
  tool: z.string(),
  argumentsDigest: z.string(),
  outcome: z.enum(['ok', 'error', 'cancelled']),
  /** ISO 8601, UTC: when the host heard of it. */
  at: z.iso.datetime(),
});
export type KeptReceipt = z.infer<typeof Kept>;

const Use = z.strictObject({
  requests: z.number().int(),
  refusals: z.number().int(),
  inputTokens: z.number().int(),
  outputTokens: z.number().int(),
});
/** Requests let through and refused, tokens as the provider reported them to the gateway. */
export type ModelUse = z.infer<typeof Use>;

const ADD = `INSERT INTO receipts (invocation, seq, tool, arguments_digest, outcome, at)
  SELECT :invocation, next.seq, :tool, :argumentsDigest, :outcome, :at
  FROM (SELECT coalesce(max(seq), 0) + 1 AS seq FROM receipts WHERE invocation = :invocation) AS next
  WHERE next.seq <= ${RECEIPTS_MAX}`;

export class ReceiptStore {
  readonly #database: Database.Database;
  readonly #clock: () => number;

  constructor(database: Database.Database, clock: () => number) {
    this.#database = database;
    this.#clock = clock;
  }

  /** False: that turn has its 500 already, and this one isn't kept. */
  add(invocation: InvocationId, receipt: Receipt): boolean {
    const at = new Date(this.#clock()).toISOString();
    return this.#database.prepare(ADD).run({ invocation, ...receipt, at }).changes === 1;
  }

  /** In the order in which they came. */
  of(invocation: InvocationId): KeptReceipt[] {
    const rows = this.#database
      .prepare(
        `SELECT seq, tool, arguments_digest AS argumentsDigest, outcome, at FROM receipts
         WHERE invocation = ? ORDER BY seq`,
      )
      .all(invocation);
    return z.array(Kept).parse(rows);
  }

  /** The last call counts: a turn's socket closes once, and its count only grows. */
  recordUse(invocation: InvocationId, { requests, refusals, inputTokens, outputTokens }: ModelUse): void {
    this.#database
      .prepare(
        `INSERT OR REPLACE INTO model_use (invocation, requests, refusals, input_tokens, output_tokens)
         VALUES (:invocation, :requests, :refusals, :inputTokens, :outputTokens)`,
      )
      .run({ invocation, requests, refusals, inputTokens, outputTokens });
  }

  /** null: the turn never got a socket, or has not ended. */
  useOf(invocation: InvocationId): ModelUse | null {
    const row = this.#database
      .prepare(
        `SELECT requests, refusals, input_tokens AS inputTokens, output_tokens AS outputTokens
         FROM model_use WHERE invocation = ?`,
      )
      .get(invocation);
    return row === undefined ? null : Use.parse(row);
  }
}
