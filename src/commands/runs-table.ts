/** Runs for a person: one line each in a list; one alone with its phases, its end, its use of the model, its tool calls. Pure. */
import type { InvocationRecord, Timings } from '../domain/invocation.ts';
import { type KeptReceipt, type ModelUse, RECEIPTS_MAX } from '../store/receipts.ts';
import { formatCount, formatDuration, renderTable } from './table.ts';
import { terminalLine } from './terminal.ts';

export interface Run {
  readonly record: InvocationRecord;
  /** null: it has not ended, or never got as far as the model's socket. */
  readonly model: ModelUse | null;
  readonly receipts: readonly KeptReceipt[];
}

/** `2026-05-17 10:00:00Z`. */
const moment = (iso: string): string => `${iso.slice(0, 10)} ${iso.slice(11, 19)}Z`;

/** The turn alone, from `started` on: what its message waited before, retries included, is told by the phases. */
const duration = ({ timings, state, createdAt }: InvocationRecord, nowMs: number): string => {
  if (timings.totalMs !== null) return formatDuration(Math.max(0, timings.totalMs - (timings.queuedMs ?? 0)));
  return state === 'ended' ? '-' : formatDuration(Math.max(0, nowMs - Date.parse(createdAt)));
};

const HEAD = ['id', 'group', 'tier', 'session', 'started', 'duration', 'end'];

export const renderRuns = (records: readonly InvocationRecord[], nowMs: number): string => {
  if (records.length === 0) return 'no runs yet';
  const rows = records.map((record) => [
    record.id,
    record.group,
    record.tier,
    record.session,
    moment(record.createdAt),
    duration(record, nowMs),
    record.reason ?? `${record.state} …`,
  ]);
  return renderTable([HEAD, ...rows]);
};

const PHASES: readonly (readonly [keyof Timings, string])[] = [
  ['queuedMs', 'waited in the queue'],
  ['stagedMs', 'staged'],
  ['startedMs', 'container started'],
  ['firstModelRequestMs', 'first model request'],
  ['totalMs', 'ended'],
];

/** Each point that was reached: when, and how long after the one before it. */
const phaseRows = (timings: Timings): string[][] => {
  const reached = PHASES.flatMap(([point, name]) => {
    const at = timings[point];
    return at === null ? [] : [{ name, at }];
  });
  return reached.map(({ name, at }, index) => {
    const since = at - (reached[index - 1]?.at ?? 0);
    return [name, `at ${formatDuration(at)}`, index === 0 ? '' : `+${formatDuration(Math.max(0, since))}`];
  });
};

const modelLine = (use: ModelUse | null): string =>
  use === null
    ? 'not counted'
    : `${formatCount(use.requests)} requests (${formatCount(use.refusals)} refused), ` +
      `${formatCount(use.inputTokens)} tokens in, ${formatCount(use.outputTokens)} out, as the gateway counted`;

const headRows = ({ record, model }: Run, nowMs: number): string[][] => [
  ['run', record.id],
  ['group', record.group],
  ['tier', record.tier],
  ['agent', record.agent],
  ['session', record.session],
  ['started', moment(record.createdAt)],
  ['duration', duration(record, nowMs)],
  ['end', record.reason ?? `none yet: ${record.state}`],
  ...(record.detail === null ? [] : [['detail', terminalLine(record.detail, 500)]]),
  ['model', modelLine(model)],
];

const DIGEST_CHARS = 12;

const receiptRows = (receipts: readonly KeptReceipt[]): string[][] =>
  receipts.map(({ seq, at, tool, outcome, argumentsDigest }) => [
    String(seq),
    moment(at),
    terminalLine(tool),
    outcome,
    argumentsDigest.slice(0, DIGEST_CHARS),
  ]);

const receiptTable = (receipts: readonly KeptReceipt[]): string[] => {
  if (receipts.length === 0) return ['Tool calls: none'];
  const more = receipts.length >= RECEIPTS_MAX ? `, no more than ${RECEIPTS_MAX} are kept` : '';
  const head = ['', 'heard', 'tool', 'outcome', 'arguments'];
  return [
    `Tool calls (${receipts.length}, as the container told them${more})\n${renderTable([head, ...receiptRows(receipts)], 2)}`,
  ];
};

const phaseTable = (timings: Timings): string[] => {
  const rows = phaseRows(timings);
  return rows.length === 0 ? [] : [`Phases, counted from when the message was accepted\n${renderTable(rows, 2)}`];
};

export const renderRun = (run: Run, nowMs: number): string =>
  [renderTable(headRows(run, nowMs)), ...phaseTable(run.record.timings), ...receiptTable(run.receipts)].join('\n\n');
