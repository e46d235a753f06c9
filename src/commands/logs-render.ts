/** Lines of the supervisor's log, read and written for a person. A line that isn't JSON is shown as it is. Pure. */
import { z } from 'zod';
import { terminalText } from './terminal.ts';

const LogLine = z.looseObject({
  time: z.union([z.string(), z.number()]).optional(),
  level: z.union([z.string(), z.number()]).optional(),
  msg: z.string().optional(),
  group: z.string().optional(),
  invocation: z.string().optional(),
});
export type LogLine = z.infer<typeof LogLine>;

/** undefined: not a line of the logger's (a crash's last words, for one). */
export const parseLogLine = (line: string): LogLine | undefined => {
  if (!line.startsWith('{')) return undefined;
  try {
    return LogLine.safeParse(JSON.parse(line)).data;
  } catch {
    return undefined; // Cut off by a crash: shown as it is.
  }
};

/** Always the same in one log, so not worth a column. */
const HIDDEN: ReadonlySet<string> = new Set(['time', 'level', 'msg', 'pid', 'hostname', 'home', 'stack']);

const word = (value: unknown): string => {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return /^[^\s"=]+$/.test(text) ? text : JSON.stringify(text);
};

const errorMessage = (value: unknown): unknown =>
  typeof value === 'object' && value !== null && 'message' in value ? value.message : value;

const fields = (line: LogLine): string =>
  Object.entries(line)
    .filter(([name, value]) => !HIDDEN.has(name) && value !== undefined)
    .map(([name, value]) => `${name}=${word(name === 'err' ? errorMessage(value) : value)}`)
    .join(' ');

const timeOf = ({ time }: LogLine): string => {
  const at = new Date(time ?? Number.NaN);
  return Number.isNaN(at.getTime()) ? '-' : at.toISOString();
};

const LEVEL_CHARS = 5;

/** `time level message field=value …`, on one line. */
export const renderLogLine = (text: string): string => {
  const line = parseLogLine(text);
  if (line === undefined) return terminalText(text);
  const level = String(line.level ?? '-').toUpperCase();
  const parts = [timeOf(line), level.padEnd(LEVEL_CHARS), line.msg ?? '', fields(line)];
  return terminalText(parts.filter((part) => part !== '').join(' ')).replaceAll('\n', '\\n');
};

/** True where the line belongs to a group that goes by one of these names (id, folder). */
export const isOfGroup = (text: string, names: ReadonlySet<string>): boolean => {
  const group = parseLogLine(text)?.group;
  return group !== undefined && names.has(group);
};

/** True where the line was written during that run. */
export const isOfRun = (text: string, run: string): boolean => parseLogLine(text)?.invocation === run;
