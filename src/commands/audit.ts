/** `tierclaw audit list|verify|acknowledge`: what was done and refused, and whether its record is what was written. */
import { acknowledge } from '../audit/acknowledge.ts';
import { type Judged, judgeTrail } from '../audit/check.ts';
import { type TrailFiles, trailFiles } from '../audit/files.ts';
import { isUnchained } from '../audit/tail.ts';
import type { Link } from '../domain/audit-chain.ts';
import type { Flaw, Range } from '../domain/audit-verdict.ts';
import { AppError, EXIT_STATUS } from '../errors.ts';
import type { Home } from '../home.ts';
import { acquireLock } from '../store/lock.ts';
import type { CommandContext, CommandResult } from './context.ts';
import { isHomeMade } from './groups-find.ts';
import { formatCount } from './table.ts';
import { terminalLine } from './terminal.ts';

export interface VerifyOptions {
  /** `<number>:<hash>` of a line, kept somewhere else. */
  readonly expect?: string;
}

export interface AcknowledgeOptions {
  readonly yes?: boolean;
}

const LINE_CHARS_MAX = 500;

const requireHome = (home: Home): TrailFiles => {
  if (isHomeMade(home)) return trailFiles(home.auditFile);
  const message = `there is no home at ${home.dir} (no ${home.stateDatabase})`;
  throw new AppError({ code: 'not-found', message, hint: 'make one with: tierclaw init' });
};

const parseNoted = (text: string): Link => {
  const [, seq, hash] = /^(\d{1,15}):([0-9a-f]{64})$/.exec(text) ?? [];
  if (seq !== undefined && hash !== undefined) return { seq: Number(seq), hash };
  const message = `--expect "${terminalLine(text)}": a line is noted as <number>:<64 hex digits>`;
  throw new AppError({ code: 'usage', message, hint: 'tierclaw audit verify prints the last one' });
};

const named = ({ file, line, what }: Flaw): string =>
  terminalLine(`${file}${line === null ? '' : `:${line}`}: ${what}`, LINE_CHARS_MAX);

const ranges = (intact: readonly Range[]): string =>
  intact.map(({ from, to }) => (from === to ? `${from}` : `${from}–${to}`)).join(', ') || 'none';

const lastLine = ({ last }: Judged): string =>
  last.seq === 0 ? 'nothing has been recorded yet' : `last line: ${last.seq}:${last.hash}`;

const NOTE = 'note that down elsewhere, and compare later: tierclaw audit verify --expect <number>:<hash>';
const NEXT =
  'next: find out who or what did it; to go on: tierclaw down, tierclaw audit acknowledge --yes, tierclaw up';

const acknowledgedText = ({ acknowledged }: Judged): string[] =>
  acknowledged.length === 0
    ? []
    : [
        'breaks that were acknowledged, in files that are as they were then:',
        ...acknowledged.map((flaw) => `  ${named(flaw)}`),
      ];

const tornText = ({ torn }: Judged): string[] =>
  torn === null ? [] : ['the last line isn’t whole: it is being written, or a process died; the next start repairs it'];

const renderWhole = (judged: Judged): string => {
  const head = `the audit trail is whole: ${formatCount(judged.lines)} lines`;
  return [head, ...acknowledgedText(judged), ...tornText(judged), lastLine(judged), NOTE].join('\n');
};

const renderBroken = (judged: Judged): string => {
  const more = judged.flawsInAll - judged.flaws.length;
  return [
    'the audit trail is BROKEN',
    ...judged.flaws.map((flaw) => `  ${named(flaw)}`),
    ...(more > 0 ? [`  and ${formatCount(more)} more`] : []),
    `intact: ${formatCount(judged.lines)} lines, number ${ranges(judged.intact)}`,
    ...acknowledgedText(judged),
    ...tornText(judged),
    NEXT,
  ].join('\n');
};

const dataOf = ({ ok, lines, intact, flaws, flawsInAll, acknowledged, torn, last, head }: Judged) => ({
  ...{ ok, lines, intact, flaws, flawsInAll, acknowledged },
  ...{ torn: torn?.bytes ?? 0, last, head },
});

const UNCHAINED =
  'the trail is of a version that did not chain its lines; the next start of the supervisor begins a chain';

/** Streams: its memory doesn’t grow with the trail. Exit status `audit` where something isn’t what was written. */
export const verifyAudit = async ({ home }: CommandContext, { expect }: VerifyOptions): Promise<CommandResult> => {
  const files = requireHome(home);
  const noted = expect === undefined ? [] : [parseNoted(expect)];
  if (isUnchained(files)) return { text: UNCHAINED, data: { ok: true, chained: false } };
  const judged = judgeTrail(files, noted);
  return judged.ok
    ? { text: renderWhole(judged), data: dataOf(judged) }
    : { text: renderBroken(judged), data: dataOf(judged), status: EXIT_STATUS.audit };
};

/** Without `--yes` it shows what is broken, and ends with status 6. */
export const acknowledgeAudit = async (
  { home }: CommandContext,
  { yes = false }: AcknowledgeOptions,
): Promise<CommandResult> => {
  const files = requireHome(home);
  const lock = acquireLock(home.lockFile);
  try {
    const judged = judgeTrail(files);
    const [flaw] = judged.flaws;
    if (flaw === undefined || isUnchained(files))
      return { text: 'nothing is broken', data: { done: false, ...dataOf(judged) } };
    if (!yes) {
      const text = `${renderBroken(judged)}\n\nnothing was changed; to begin anew behind it: tierclaw audit acknowledge --yes`;
      return { text, data: { done: false, ...dataOf(judged) }, status: EXIT_STATUS.refused };
    }
    const why = `${named(flaw)}${judged.flawsInAll > 1 ? ` and ${judged.flawsInAll - 1} more` : ''}`;
    const done = acknowledge(files, why, new Date().toISOString());
    const kept = done.keptAs === null ? 'there was no file to keep' : `what was there is kept as ${done.keptAs}`;
    return {
      text: `${kept}\nthe trail begins anew with line number ${done.seq}\nnext: tierclaw up --detach`,
      data: { done: true, ...done },
    };
  } finally {
    lock.release();
  }
};
