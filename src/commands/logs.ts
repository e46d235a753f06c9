/** `tierclaw logs`: the supervisor's log of this home, for a person or (with --json) as it was written. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { AppError } from '../errors.ts';
import type { Home } from '../home.ts';
import type { CommandContext } from './context.ts';
import { findGroup, withStores } from './groups-find.ts';
import { followLines, type LogPosition, tailLines } from './logs-read.ts';
import { isOfGroup, renderLogLine } from './logs-render.ts';

export interface LogsOptions {
  /** Name, folder or id of a group. */
  readonly group?: string;
  readonly lines: number;
  readonly follow: boolean;
}

/** Where `up --detach` and deploy.sh let the supervisor write. */
export const logFile = (home: Home): string => join(home.logs, 'supervisor.log');

const filterFor = async (home: Home, asked: string | undefined): Promise<(line: string) => boolean> => {
  if (asked === undefined) return () => true;
  if (!existsSync(home.stateDatabase)) return (line) => isOfGroup(line, new Set([asked]));
  const group = await withStores(home, (stores) => findGroup(stores, asked));
  const names = new Set<string>([group.id, group.folder]);
  return (line) => isOfGroup(line, names);
};

const FROM_START: LogPosition = { inode: -1, offset: 0 };

/** Prints as it reads. Throws AppError `not-found` when there is no log and nothing is to be waited for. */
export const logs = async (context: CommandContext, options: LogsOptions): Promise<null> => {
  const { home, json, screen } = context;
  const path = logFile(home);
  const accept = await filterFor(home, options.group);
  const print = (line: string): void => screen.out(`${json ? line : renderLogLine(line)}\n`);

  const tail = await tailLines(path, { count: options.lines, accept });
  if (tail === null && !options.follow) {
    throw new AppError({ code: 'not-found', message: `there is no log at ${path}`, hint: 'tierclaw up --detach' });
  }
  tail?.lines.forEach(print);
  if (!options.follow) return null;
  for await (const line of followLines(path, tail?.end ?? FROM_START, context.interruption())) {
    if (accept(line)) print(line);
  }
  return null;
};
