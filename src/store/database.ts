/**
 * Opens one of a home's two databases, brought up to date. A file that isn't ours, or that a newer version has written,
 * is refused before a byte of it is changed.
 */
import { chmodSync, closeSync, existsSync, mkdirSync, openSync, readSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { AppError } from '../errors.ts';
import { packageRoot } from '../package-root.ts';
import { appliedMigrations, type Migration, migrate, readMigrations } from './migrate.ts';

/** Waits this long for another connection's lock before SQLITE_BUSY. It blocks the event loop: keep it bounded. */
export const BUSY_TIMEOUT_MS = 5000;

export interface DatabasePlace {
  /** Names the migrations' directory and the backups. */
  readonly name: 'state' | 'messages';
  readonly file: string;
  readonly backups: string;
  readonly clock: () => number;
  /** Where the numbered SQL files are; default: this program's own. */
  readonly migrations?: string;
}

/**
 * Makes the file (0600) where it is missing, backs it up and migrates it where migrations are pending.
 * Throws AppError `config` for a file that isn't a database of this kind, `conflict` for one of a newer version.
 */
export const openDatabase = (place: DatabasePlace): Database.Database => {
  const known = readMigrations(place.migrations ?? join(packageRoot(), 'src', 'store', 'migrations', place.name));
  makeFile(place.file);
  return namingFile(place.file, () => {
    refuseForeign(place.file, known);
    const database = new Database(place.file, { fileMustExist: true, timeout: BUSY_TIMEOUT_MS });
    try {
      setUp(database);
      migrate({ database, known, place });
      database.pragma('foreign_keys = ON');
      return database;
    } catch (thrown) {
      database.close();
      throw thrown;
    }
  });
};

const makeFile = (file: string): void => {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  if (existsSync(file)) return;
  closeSync(openSync(file, 'wx', 0o600));
  // The umask may have taken more away than we ask for.
  chmodSync(file, 0o600);
};

const setUp = (database: Database.Database): void => {
  database.pragma('journal_mode = WAL');
  database.pragma('synchronous = NORMAL');
  // Rebuilding a table in a migration must not cascade; what it leaves is checked before each commit.
  database.pragma('foreign_keys = OFF');
};

const refuseForeign = (file: string, known: readonly Migration[]): void => {
  if (statSync(file).size === 0) return;
  // SQLite takes a file that is shorter than its header for an empty one, and would write over it.
  if (!beginsLikeADatabase(file)) throw noDatabase(file, 'it begins otherwise than a database does');
  // Read-only, so that even the header of a refused file stays as it is.
  const database = new Database(file, { readonly: true, fileMustExist: true, timeout: BUSY_TIMEOUT_MS });
  try {
    const names = new Set(known.map((migration) => migration.name));
    const applied = appliedMigrations(database);
    if (applied === null && tableCount(database) > 0) throw notOurs(file);
    const unknown = (applied ?? []).filter((name) => !names.has(name));
    if (unknown.length > 0) throw newer(file, unknown, known);
  } finally {
    database.close();
  }
};

const HEADER = Buffer.from('SQLite format 3\0');

const beginsLikeADatabase = (file: string): boolean => {
  const found = Buffer.alloc(HEADER.length);
  const descriptor = openSync(file, 'r');
  try {
    return readSync(descriptor, found, 0, found.length, 0) === HEADER.length && found.equals(HEADER);
  } finally {
    closeSync(descriptor);
  }
};

const tableCount = (database: Database.Database): number =>
  database.prepare('SELECT name FROM sqlite_schema').all().length;

const notOurs = (file: string): AppError =>
  new AppError({
    code: 'config',
    message: `${file} is a database of some other program: it has tables but no table "migrations"`,
    hint: 'move the file away; a new one is made at the next start',
  });

const newer = (file: string, unknown: readonly string[], known: readonly Migration[]): AppError =>
  new AppError({
    code: 'conflict',
    message:
      `${file} was written by a newer version: it has the migration ${unknown.join(', ')}, ` +
      `and this program knows ${known.map((migration) => migration.name).join(', ')}. Nothing was changed.`,
    hint: 'run the newer version, or put the backup from data/backups/ back that was made before it',
  });

const namingFile = <T>(file: string, open: () => T): T => {
  try {
    return open();
  } catch (thrown) {
    if (!(thrown instanceof Database.SqliteError)) throw thrown;
    throw noDatabase(file, `${thrown.message} (${thrown.code})`, thrown);
  }
};

const noDatabase = (file: string, why: string, cause?: unknown): AppError =>
  new AppError({
    code: 'config',
    message: `${file} can't be opened as a database: ${why}`,
    hint: 'move the file away, or put a backup from data/backups/ in its place',
    cause,
  });
