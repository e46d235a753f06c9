/**
 * Where the supervisor's log lies, and its older ones beside it: `supervisor.log.1` is the youngest of them. The log is
 * put aside by a rename while nobody writes to it, and by whoever writes to it otherwise: copied and emptied in one
 * step, so that no line falls in between.
 */
import { copyFileSync, fstatSync, renameSync, statSync, truncateSync } from 'node:fs';
import { rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isErrno } from '../errors.ts';
import type { Home } from '../home.ts';

/** A log that is larger is put aside: when a supervisor starts, and while it runs. */
export const LOG_BYTES_MAX = 20 * 1024 * 1024;
/** Older logs that are kept: with the one in use about 80 MB. */
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

const isFileOf = (descriptor: number, path: string): boolean => {
  const written = fstatSync(descriptor);
  const named = statSync(path, { throwIfNoEntry: false });
  return named !== undefined && written.dev === named.dev && written.ino === named.ino;
};

/**
 * The same by the process that writes to it through `descriptor`, opened for appending: the file keeps its inode. It
 * blocks for as long as copying 20 MB takes. True where it did.
 */
export const rotateOwnLog = (home: Home, descriptor: number, maxBytes: number = LOG_BYTES_MAX): boolean => {
  const path = logFile(home);
  if (!isFileOf(descriptor, path) || fstatSync(descriptor).size <= maxBytes) return false;
  const files = oldLogFiles(home);
  for (let at = files.length - 1; at > 0; at -= 1) {
    const from = files[at - 1] ?? '';
    if (statSync(from, { throwIfNoEntry: false }) !== undefined) renameSync(from, files[at] ?? '');
  }
  copyFileSync(path, files[0] ?? '');
  truncateSync(path, 0);
  return true;
};
