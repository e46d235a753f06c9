/**
 * One supervisor per home. The lock is an exclusive transaction on a database of its own, so that the kernel lets go of
 * it when the process dies, however it dies; the pid in it is for the message alone.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import Database from 'better-sqlite3';
import { AppError } from '../errors.ts';

export interface Lock {
  /** Idempotent. */
  release(): void;
}

const isBusy = (thrown: unknown): boolean =>
  thrown instanceof Database.SqliteError && thrown.code.startsWith('SQLITE_BUSY');

const holder = (pidFile: string): string => {
  try {
    return readFileSync(pidFile, 'utf8').trim();
  } catch {
    return 'unknown'; // Only a name for the message.
  }
};

/** Throws AppError `conflict` naming the process that holds it. */
export const acquireLock = (file: string): Lock => {
  const pidFile = `${file}.pid`;
  const database = new Database(file, { timeout: 0 });
  try {
    database.exec('BEGIN EXCLUSIVE');
  } catch (thrown) {
    database.close();
    if (!isBusy(thrown)) throw thrown;
    throw new AppError({
      code: 'conflict',
      message: `another supervisor (pid ${holder(pidFile)}) already runs on this home`,
      hint: 'tierclaw status shows it, tierclaw down ends it',
    });
  }
  writeFileSync(pidFile, `${process.pid}\n`, { mode: 0o600 });
  return { release: () => void database.close() };
};
