/** `tierclaw audit list`: events of the trail, chosen by group, kind and time; as many of the last as asked for. */
import { trailFiles } from '../audit/files.ts';
import { type AuditEntry, readEntries } from '../audit/read.ts';
import { AUDIT_KINDS } from '../domain/audit-kinds.ts';
import { AppError } from '../errors.ts';
import type { CommandContext, CommandResult } from './context.ts';
import { groupIdOf, withStores } from './groups-find.ts';
import { renderTable } from './table.ts';
import { terminalLine } from './terminal.ts';

export interface AuditListOptions {
  readonly group?: string;
  readonly kind?: string;
  readonly since?: string;
  readonly last: number;
}

const UNIT_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };
const SHOWN_CHARS_MAX = 300;

/** `2h` is two hours ago; else a date as ISO 8601 has it. */
const parseSince = (text: string, now: number): string => {
  const [, count, unit] = /^(\d{1,6})([mhd])$/.exec(text) ?? [];
  const ms = count === undefined ? Date.parse(text) : now - Number(count) * (UNIT_MS[unit ?? ''] ?? 0);
  if (Number.isFinite(ms)) return new Date(ms).toISOString();
  const message = `--since "${terminalLine(text)}" is neither a date nor a time ago`;
  throw new AppError({ code: 'usage', message, hint: 'write 2026-01-31, 2026-01-31T12:00Z, 30m, 12h or 7d' });
};

/** A whole kind, or the beginning of several: `ipc-`. */
const parseKind = (text: string): string => {
  if (AUDIT_KINDS.some((kind) => kind.startsWith(text))) return text;
  throw new AppError({
    code: 'usage',
    message: `no kind of event begins with "${terminalLine(text)}"; there are: ${AUDIT_KINDS.join(', ')}`,
    hint: 'tierclaw audit list --help',
  });
};

const filterOf = ({ kind, since }: AuditListOptions, group: string | undefined, now: number) => {
  const [from, begin] = [since === undefined ? '' : parseSince(since, now), kind === undefined ? '' : parseKind(kind)];
  return (entry: AuditEntry): boolean =>
    entry.at >= from && entry.kind.startsWith(begin) && (group === undefined || entry.group === group);
};

const HEAD: ReadonlySet<string> = new Set(['seq', 'at', 'kind', 'group', 'invocation', 'tier', 'prev', 'hash']);

const value = (found: unknown): string => (typeof found === 'string' ? found : JSON.stringify(found));

const rowOf = (entry: AuditEntry): string[] => {
  const details = Object.entries(entry).filter(([key]) => !HEAD.has(key));
  const text = details.map(([key, found]) => `${key}=${value(found)}`).join(' ');
  const cells = [entry.seq ?? '–', entry.at, entry.kind, entry.group ?? '–', entry.invocation ?? '–'];
  return [...cells.map((cell) => terminalLine(value(cell))), terminalLine(text, SHOWN_CHARS_MAX)];
};

/** Its memory grows with what is shown, not with the trail. */
export const listAudit = async ({ home }: CommandContext, options: AuditListOptions): Promise<CommandResult> => {
  const group = await withStores(home, (stores) => options.group && groupIdOf(stores, options.group));
  const wanted = filterOf(options, group, Date.now());
  const shown: AuditEntry[] = [];
  const unreadable: string[] = [];
  for (const entry of readEntries(trailFiles(home.auditFile), (name) => unreadable.push(name))) {
    if (wanted(entry) && shown.push(entry) > 2 * options.last) shown.splice(0, options.last);
  }
  const last = shown.slice(-options.last);
  const notes = unreadable.map((name) => `${name} is not a file; see: tierclaw audit verify`);
  const table = renderTable([['number', 'at', 'kind', 'group', 'turn', 'details'], ...last.map(rowOf)]);
  return { text: [last.length === 0 ? 'no such events' : table, ...notes].join('\n'), data: last };
};
