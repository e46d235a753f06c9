/** `tierclaw logs`: the supervisor's log of this home, for a person or (with --json) as it was written. */
import { existsSync } from 'node:fs';
import { InvocationId } from '../domain/ids.ts';
import { AppError } from '../errors.ts';
import type { Home } from '../home.ts';
import { logFile, oldLogFiles } from '../ops/log-files.ts';
import type { CommandContext } from './context.ts';
import { findGroup, withStores } from './groups-find.ts';
import { followLines } from './logs-follow.ts';
import { type LogTail, type TailRequest, tailLines } from './logs-read.ts';
import { isOfGroup, isOfRun, renderLogLine } from './logs-render.ts';
import { noRun } from './runs.ts';

export interface LogsOptions {
  /** Name, folder or id of a group. */
  readonly group?: string;
  /** The id of a run. */
  readonly run?: string;
  readonly lines: number;
  readonly follow: boolean;
}

type Accept = (line: string) => boolean;

const ofGroup = async (home: Home, asked: string): Promise<Accept> => {
  if (!existsSync(home.stateDatabase)) return (line) => isOfGroup(line, new Set([asked]));
  const group = await withStores(home, (stores) => findGroup(stores, asked));
  const names = new Set<string>([group.id, group.folder]);
  return (line) => isOfGroup(line, names);
};

/** In the database, which keeps runs longer than the log keeps their lines. */
const isKnownRun = (home: Home, id: InvocationId): boolean | Promise<boolean> =>
  existsSync(home.stateDatabase) && withStores(home, ({ invocations }) => invocations.get(id) !== null);

/** What was asked for can't be a run at all. */
const checkRun = (asked: string): InvocationId => {
  const id = InvocationId.safeParse(asked.toUpperCase());
  if (id.success) return id.data;
  throw noRun(asked);
};

const sayNothing = async ({ home, screen }: CommandContext, { run, group }: LogsOptions): Promise<void> => {
  if (run !== undefined && !(await isKnownRun(home, checkRun(run)))) throw noRun(run);
  if (run !== undefined) screen.err('the log has no line of that run; what is kept of it: tierclaw runs show <id>\n');
  else if (group !== undefined) screen.err('the log has no line of that group\n');
};

const filterFor = async (home: Home, { group, run }: LogsOptions): Promise<Accept> => {
  const accepts = [
    ...(group === undefined ? [] : [await ofGroup(home, group)]),
    ...(run === undefined ? [] : [(line: string) => isOfRun(line, run.toUpperCase())]),
  ];
  return (line) => accepts.every((accept) => accept(line));
};

/** The last lines of the log, and of the older ones where it has too few. */
const tailOfAll = async (home: Home, request: TailRequest): Promise<LogTail | null> => {
  const newest = await tailLines(logFile(home), request);
  let lines = newest?.lines ?? [];
  for (const path of oldLogFiles(home)) {
    if (lines.length >= request.count) break;
    const older = await tailLines(path, { ...request, count: request.count - lines.length });
    lines = [...(older?.lines ?? []), ...lines];
  }
  if (newest === null && lines.length === 0) return null;
  return { lines, end: newest?.end ?? { inode: -1, offset: 0 } };
};

/** Prints as it reads. Throws AppError `not-found` when there is no log and nothing is to be waited for. */
export const logs = async (context: CommandContext, options: LogsOptions): Promise<null> => {
  const { home, json, screen } = context;
  const path = logFile(home);
  if (options.run !== undefined) checkRun(options.run);
  const accept = await filterFor(home, options);
  const print = (line: string): void => screen.out(`${json ? line : renderLogLine(line)}\n`);

  const tail = await tailOfAll(home, { count: options.lines, accept, wholeLines: options.follow });
  if (tail === null && !options.follow) {
    throw new AppError({ code: 'not-found', message: `there is no log at ${path}`, hint: 'tierclaw up --detach' });
  }
  tail?.lines.forEach(print);
  if (!options.follow && tail?.lines.length === 0) await sayNothing(context, options);
  if (!options.follow) return null;
  for await (const line of followLines(path, tail?.end ?? null, context.interruption())) {
    if (accept(line)) print(line);
  }
  return null;
};
