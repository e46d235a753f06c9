/**
 * Takes old rows out of both databases, a few hundred in one transaction, so that nobody waits long for a lock.
 * Blocking: for a command, or a thread of its own. Invariant: what is still to be answered, sent or decided stays,
 * however old it is, unless the policy names it (dead letters).
 */
import Database from 'better-sqlite3';
import { encodeTime } from 'ulid';
import { z } from 'zod';
import type { RetentionConfig } from '../domain/retention-config.ts';
import { BUSY_TIMEOUT_MS } from './patience.ts';

const DAY_MS = 24 * 3_600_000;
/** Some milliseconds of work; between two the lock is free. */
const CHUNK_ROWS = 500;
const PAUSE_MS = 5;

export interface RetentionJob {
  readonly state: string;
  readonly messages: string;
  readonly policy: RetentionConfig;
  /** Ms since 1970. */
  readonly nowMs: number;
  /** Only counts. */
  readonly dryRun: boolean;
}

export const PrunedRows = z.strictObject({
  kind: z.string(),
  /** Rows that are too old; of what has several rows, the leading one counts. */
  found: z.number().int(),
  removed: z.number().int(),
});
export type PrunedRows = z.infer<typeof PrunedRows>;

type Parameters = Readonly<Record<string, string | number>>;

/** One kind: which rows it finds, as keys, and what is done to each chunk of them. */
interface RowRule {
  readonly kind: string;
  readonly database: 'state' | 'messages';
  /** Columns that name a row, for `IN`. */
  readonly key: string;
  /** FROM … WHERE …, with the parameters. */
  readonly from: string;
  readonly parameters: Parameters;
  /** Statements with `:chunk` standing for the keys; the first one's changes are what is counted. */
  readonly remove: readonly string[];
}

/** Ids begin with their time, so the oldest are the first of the primary key. */
const idsBefore = (ms: number): string => encodeTime(Math.max(0, ms), 10);

type Since = (days: number) => number;

const rule = (database: RowRule['database'], kind: string, rest: Omit<RowRule, 'database' | 'kind'>): RowRule => ({
  database,
  kind,
  ...rest,
});

const RUNS = ['DELETE FROM invocations WHERE id IN :chunk', 'DELETE FROM receipts WHERE invocation IN :chunk'];

const runRules = ({ runsDays, spendDays }: RetentionConfig, since: Since): (RowRule | null)[] => [
  runsDays === null
    ? null
    : rule('state', 'runs', {
        key: 'id',
        from: `FROM invocations WHERE id < :before AND state = 'ended'`,
        parameters: { before: idsBefore(since(runsDays)) },
        remove: [...RUNS, 'DELETE FROM model_use WHERE invocation IN :chunk'],
      }),
  spendDays === null
    ? null
    : rule('state', 'spend', {
        key: 'group_id, day',
        from: 'FROM spend_days WHERE day < :before',
        parameters: { before: new Date(since(spendDays)).toISOString().slice(0, 10) },
        remove: ['DELETE FROM spend_days WHERE (group_id, day) IN :chunk'],
      }),
];

const DROP_DEAD = `UPDATE inbound SET status = 'failed', payload = NULL WHERE seq IN :chunk`;

const letterRules = (policy: RetentionConfig, since: Since): (RowRule | null)[] => [
  policy.repliesDays === null
    ? null
    : rule('state', 'delivered replies', {
        key: 'id',
        from: `FROM outbox WHERE id < :before AND status = 'sent'`,
        parameters: { before: idsBefore(since(policy.repliesDays)) },
        remove: ['DELETE FROM outbox WHERE id IN :chunk'],
      }),
  policy.deadDays === null
    ? null
    : rule('state', 'dead letters', {
        key: 'seq',
        from: `FROM inbound WHERE status = 'dead' AND received_at < :before`,
        parameters: { before: since(policy.deadDays) },
        remove: [DROP_DEAD],
      }),
  policy.deadDays === null
    ? null
    : rule('state', 'dead replies', {
        key: 'id',
        from: `FROM outbox WHERE id < :before AND status = 'dead'`,
        parameters: { before: idsBefore(since(policy.deadDays)) },
        remove: ['DELETE FROM outbox WHERE id IN :chunk'],
      }),
  rule('state', 'surplus dead letters', {
    key: 'seq',
    from: `FROM (SELECT seq, row_number() OVER (PARTITION BY chat_id ORDER BY seq DESC) AS place
           FROM inbound WHERE status = 'dead') WHERE place > :most`,
    parameters: { most: policy.deadPerChat },
    remove: [DROP_DEAD],
  }),
  policy.messageIdsDays === null
    ? null
    : rule('state', 'ids of settled messages', {
        key: 'seq',
        from: `FROM inbound WHERE status IN ('done', 'failed') AND received_at < :before`,
        parameters: { before: since(policy.messageIdsDays) },
        remove: ['DELETE FROM inbound WHERE seq IN :chunk'],
      }),
];

const historyRules = (policy: RetentionConfig, since: Since): (RowRule | null)[] => [
  rule('state', 'former conversations', {
    key: 'group_id, session, epoch, seq',
    from: `FROM transcripts AS old WHERE epoch < coalesce((SELECT epoch FROM sessions
           WHERE sessions.group_id = old.group_id AND sessions.name = old.session), 1) - :kept`,
    parameters: { kept: policy.formerSessions },
    remove: ['DELETE FROM transcripts WHERE (group_id, session, epoch, seq) IN :chunk'],
  }),
  ...(policy.messagesDays === null
    ? []
    : [
        rule('messages', 'chat history', {
          key: 'chat_id, seq',
          from: 'FROM messages WHERE sent_at < :before',
          parameters: { before: new Date(since(policy.messagesDays)).toISOString() },
          remove: ['DELETE FROM messages WHERE (chat_id, seq) IN :chunk'],
        }),
        rule('messages', 'reactions', {
          key: 'chat_id, message_id, sender_id, emoji',
          from: 'FROM reactions WHERE reacted_at < :before',
          parameters: { before: new Date(since(policy.messagesDays)).toISOString() },
          remove: ['DELETE FROM reactions WHERE (chat_id, message_id, sender_id, emoji) IN :chunk'],
        }),
      ]),
];

const rulesOf = (policy: RetentionConfig, nowMs: number): RowRule[] => {
  const since: Since = (days) => Math.max(0, nowMs - days * DAY_MS);
  return [...runRules(policy, since), ...letterRules(policy, since), ...historyRules(policy, since)].filter(
    (one) => one !== null,
  );
};

const pause = (): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);

/** The keys are put aside first: of several statements the first would take away what the next one looks for. */
const removeChunk = (database: Database.Database, { key, from, parameters, remove }: RowRule): number =>
  database
    .transaction(() => {
      database.exec('DROP TABLE IF EXISTS temp.chunk');
      database.prepare(`CREATE TEMP TABLE chunk AS SELECT ${key} ${from} LIMIT ${CHUNK_ROWS}`).run(parameters);
      const [count = 0] = remove.map(
        (sql) => database.prepare(sql.replace(':chunk', '(SELECT * FROM temp.chunk)')).run().changes,
      );
      return count;
    })
    .immediate();

const removeAll = (database: Database.Database, one: RowRule): number => {
  let removed = 0;
  for (;;) {
    const count = removeChunk(database, one);
    removed += count;
    if (count < CHUNK_ROWS) return removed;
    pause();
  }
};

const apply = (database: Database.Database, one: RowRule, dryRun: boolean): PrunedRows => {
  const found = z.number().parse(database.prepare(`SELECT count(*) ${one.from}`).pluck().get(one.parameters));
  return { kind: one.kind, found, removed: dryRun || found === 0 ? 0 : removeAll(database, one) };
};

const withDatabase = <T>(file: string, dryRun: boolean, work: (database: Database.Database) => T): T => {
  const database = new Database(file, { fileMustExist: true, readonly: dryRun, timeout: BUSY_TIMEOUT_MS });
  try {
    // What belongs to a message goes with it.
    database.pragma('foreign_keys = ON');
    return work(database);
  } finally {
    database.close();
  }
};

/** Throws what SQLite throws; what was done until then stays done. */
export const pruneRows = ({ state, messages, policy, nowMs, dryRun }: RetentionJob): PrunedRows[] => {
  const rules = rulesOf(policy, nowMs);
  const of = (name: RowRule['database']) => rules.filter(({ database }) => database === name);
  const applyAll = (some: readonly RowRule[]) => (database: Database.Database) =>
    some.map((one) => apply(database, one, dryRun));
  const inState = withDatabase(state, dryRun, applyAll(of('state')));
  const inMessages = of('messages');
  return inMessages.length === 0 ? inState : [...inState, ...withDatabase(messages, dryRun, applyAll(inMessages))];
};

const FilePath = z.object({ path: z.string() });

/** Host's copies of files that are still to be sent, or that the operator may have sent again. */
export const filesToSend = (state: string): string[] =>
  withDatabase(state, true, (database) => {
    const rows = database.prepare(`SELECT file FROM outbox WHERE file IS NOT NULL AND status <> 'sent'`).pluck().all();
    return z
      .array(z.string())
      .parse(rows)
      .map((json) => FilePath.parse(JSON.parse(json)).path);
  });
