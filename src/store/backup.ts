/**
 * Backups of both databases: whole files with a date in their name, made under another name first and bounded in
 * number. A backup that can't be made takes none of the older ones away.
 */
import { chmodSync, closeSync, existsSync, mkdirSync, openSync, readdirSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import Database from 'better-sqlite3';
import { AppError } from '../errors.ts';
import { discard, settleInto } from './files.ts';
import { BUSY_TIMEOUT_MS } from './patience.ts';

export type DatabaseName = 'state' | 'messages';
export const DATABASE_NAMES: readonly DatabaseName[] = ['state', 'messages'];

/** Newest of each kind (regular; before a migration) of each database. */
export const BACKUPS_KEPT = 5;

const REGULAR = 'regular';

export interface Backup {
  readonly file: string;
  readonly database: DatabaseName;
  /** When it was made, ms since 1970: by its name, for the file may have been copied about. */
  readonly atMs: number;
  /** `regular`, or the last migration that had been run when it was made before another. */
  readonly why: string;
  readonly bytes: number;
}

export interface BackupJob {
  readonly database: DatabaseName;
  readonly source: string;
  readonly directory: string;
  /** Ms since 1970. */
  readonly now: number;
}

const NAME = /^(state|messages)-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(\d{3})Z-([a-z0-9-]+)\.db$/;

/** 2026-01-02T03:04:05.678Z → 20260102T030405678Z, as in the names of files. */
export const compactDate = (ms: number): string => new Date(ms).toISOString().replaceAll(/[-:.]/g, '');

export const backupName = (database: string, atMs: number, why: string): string =>
  `${database}-${compactDate(atMs)}-${why}.db`;

/** What its name says; null: it isn't named like a backup. */
export const readBackup = (file: string): Backup | null => {
  const [, database, year, month, day, hour, minute, second, ms, why] = NAME.exec(basename(file)) ?? [];
  if (why === undefined || !existsSync(file)) return null;
  const atMs = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}.${ms}Z`);
  if (Number.isNaN(atMs)) return null;
  return { file, database: database === 'state' ? 'state' : 'messages', atMs, why, bytes: statSync(file).size };
};

/** Newest first. */
export const listBackups = (directory: string): Backup[] => {
  if (!existsSync(directory)) return [];
  return readdirSync(directory)
    .map((name) => readBackup(join(directory, name)))
    .filter((backup) => backup !== null)
    .sort((a, b) => b.atMs - a.atMs);
};

/** Makes a regular one, 0600, consistent also while others write; blocks for as long as that takes. Throws AppError. */
export const makeBackup = ({ database, source, directory, now }: BackupJob): string => {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  sweepUnfinished(directory);
  const file = join(directory, backupName(database, now, REGULAR));
  copyWhole(source, file);
  prune(directory, file);
  return file;
};

const UNFINISHED = '.tmp';
/** Nobody writes on a backup for so long without touching it. */
const UNFINISHED_MS = 3_600_000;

/** What a process that died in the middle has left. */
const sweepUnfinished = (directory: string): void => {
  const files = readdirSync(directory).filter((name) => name.endsWith(UNFINISHED));
  for (const file of files.map((name) => join(directory, name))) {
    const stat = statSync(file, { throwIfNoEntry: false });
    if (stat !== undefined && Date.now() - stat.mtimeMs > UNFINISHED_MS) discard(file);
  }
};

/** 0600. VACUUM INTO reads one snapshot, and fails on a damaged file instead of copying the damage. */
export const copyWhole = (source: string, target: string): void => {
  const temporary = `${target}${UNFINISHED}`;
  discard(temporary);
  try {
    // An empty file is what VACUUM INTO accepts, and it fixes the mode before there is anything to read.
    closeSync(openSync(temporary, 'wx', 0o600));
    chmodSync(temporary, 0o600);
    const database = new Database(source, { readonly: true, fileMustExist: true, timeout: BUSY_TIMEOUT_MS });
    try {
      database.prepare('VACUUM INTO ?').run(temporary);
    } finally {
      database.close();
    }
    settleInto(temporary, target);
  } catch (cause) {
    discard(temporary);
    throw notMade(source, cause);
  }
};

const notMade = (source: string, cause: unknown): AppError =>
  new AppError({
    code: 'config',
    message: `${source} could not be backed up: ${cause instanceof Error ? cause.message : String(cause)}`,
    hint: 'tierclaw db check',
    cause,
  });

/** Takes away what is more than BACKUPS_KEPT of the kind that `made` is of. */
export const prune = (directory: string, made: string): void => {
  const own = readBackup(made);
  if (own === null) return;
  const isRegular = (why: string): boolean => why === REGULAR;
  const others = listBackups(directory).filter(
    ({ file, database, why }) => file !== made && database === own.database && isRegular(why) === isRegular(own.why),
  );
  for (const { file } of others.slice(BACKUPS_KEPT - 1)) discard(file);
};

/** Whether the newest regular backup is older than that; one from the future, by a clock set back since, counts as old. */
export const isDue = (
  backups: readonly Backup[],
  database: DatabaseName,
  age: { now: number; ms: number },
): boolean => {
  const newest = backups.find((backup) => backup.database === database && backup.why === REGULAR);
  return newest === undefined || Math.abs(age.now - newest.atMs) >= age.ms;
};
