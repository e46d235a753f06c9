/**
 * Where the supervisor's log lies, and its older ones beside it: `supervisor.log.1` is the youngest of them. The log is
 * put aside only while nobody writes to it: before a supervisor starts.
 */
import { rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isErrno } from '../errors.ts';
import type { Home } from '../home.ts';

/** A log that is larger when a supervisor starts is put aside. */
export const LOG_BYTES_MAX = 20 * 1024 * 1024;
/** Older logs that are kept: with the one in use about 80 MB, plus what one life writes. */
export const OLD_LOGS = 3;

/** Where `up --detach` and deploy.sh let the supervisor write. */
export const logFile = (home: Home): string => join(home.logs, 'supervisor.log');

/** Youngest first; not all need be there. */
export const oldLogFiles = (home: Home): string[] =>
  Array.from({ length: OLD_LOGS }, (_, at) => `${logFile(home)}.${at + 1}`);

const sizeOf = async (path: string): Promise<number> => {
  try {
    return (await stat(path)).size;
  } catch (thrown) {
    if (isErrno(thrown, 'ENOENT')) return 0;
    throw thrown;
  }
};

const move = async (from: string, to: string): Promise<void> => {
  try {
    await rename(from, to);
  } catch (thrown) {
    if (!isErrno(thrown, 'ENOENT')) throw thrown;
  }
};

/** Puts a log aside that has grown too large; the oldest one is lost. True where it did. */
export const rotateLog = async (home: Home): Promise<boolean> => {
  if ((await sizeOf(logFile(home))) <= LOG_BYTES_MAX) return false;
  const files = [logFile(home), ...oldLogFiles(home)];
  for (let at = files.length - 1; at > 0; at -= 1) await move(files[at - 1] ?? '', files[at] ?? '');
  return true;
};
