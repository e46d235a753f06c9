/**
 * Opens one of a home's two databases, brought up to date. A file that isn't ours, or that a newer version has written,
 * is refused before a byte of it is changed.
 */
import { chmodSync, closeSync, existsSync, mkdirSync, openSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { AppError } from '../errors.ts';
import { packageRoot } from '../package-root.ts';
import { type DatabaseName, listBackups } from './backup.ts';
import { hasWal, headerTrouble } from './header.ts';
import { appliedMigrations, type Migration, migrate, readMigrations } from './migrate.ts';
import { BUSY_TIMEOUT_MS, isBusy } from './patience.ts';

export interface DatabasePlace {
  /** Names the migrations' directory and the backups. */
  readonly name: DatabaseName;
  readonly file: string;
  readonly backups: string;
  readonly clock: () => number;
  /** Where the numbered SQL files are; default: this program's own. */
  readonly migrations?: string;
  /** How long a statement waits for another process once the database is open; default: BUSY_TIMEOUT_MS. */
  readonly busyTimeoutMs?: number | undefined;
}

/**
 * Makes the file (0600) where it is missing, backs it up and migrates it where migrations are pending.
 * Throws AppError `config` for a file that isn't a database of this kind, is damaged, or is gone although there are
 * backups of it; `conflict` for one of a newer version, or a locked one. What is refused is left as it is.
 */
export const openDatabase = (place: DatabasePlace): Database.Database => {
  const known = readMigrations(place.migrations ?? join(packageRoot(), 'src', 'store', 'migrations', place.name));
  return namingFile(place, () => {
    if (mayBegin(place)) makeFile(place.file);
    else refuse(place, known);
    const database = new Database(place.file, { fileMustExist: true, timeout: BUSY_TIMEOUT_MS });
    try {
      setUp(database);
      migrate({ database, known, place });
      database.pragma('foreign_keys = ON');
      database.pragma(`busy_timeout = ${place.busyTimeoutMs ?? BUSY_TIMEOUT_MS}`);
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

/** Nothing is there, and nothing tells that there ever was. An empty file is what a start that was cut off has left. */
const mayBegin = ({ name, file, backups }: DatabasePlace): boolean => {
  if (existsSync(file) && statSync(file).size > 0) return false;
  return !hasWal(file) && !listBackups(backups).some(({ database }) => database === name);
};

const refuse = (place: DatabasePlace, known: readonly Migration[]): void => {
  const { file } = place;
  if (!existsSync(file)) throw damaged(place, 'it is gone, but there are backups of it');
  const trouble = headerTrouble(file);
  if (trouble !== null) throw damaged(place, trouble);
  // Read-only, so that even the header of a refused file stays as it is.
  const database = new Database(file, { readonly: true, fileMustExist: true, timeout: BUSY_TIMEOUT_MS });
  try {
    refuseContent(database, place, known);
  } finally {
    database.close();
  }
};

const refuseContent = (database: Database.Database, place: DatabasePlace, known: readonly Migration[]): void => {
  const names = new Set(known.map((migration) => migration.name));
  const applied = appliedMigrations(database);
  if (applied === null && tableCount(database) > 0) throw notOurs(place);
  const unknown = (applied ?? []).filter((name) => !names.has(name));
  if (unknown.length > 0) throw newer(place, unknown, known);
  // After a crash the header can't tell what is missing, and the first commit would be written over it.
  const check = hasWal(place.file) ? database.pragma('quick_check(1)', { simple: true }) : 'ok';
  if (check !== 'ok') throw damaged(place, String(check));
};

const tableCount = (database: Database.Database): number =>
  database.prepare('SELECT name FROM sqlite_schema').all().length;

const restoreHint = ({ name }: DatabasePlace): string => `tierclaw db restore ${name} shows what the last backup has`;

const notOurs = (place: DatabasePlace): AppError =>
  new AppError({
    code: 'config',
    message: `${place.file} is a database of some other program: it has tables but no table "migrations"`,
    hint: `move it away, or: ${restoreHint(place)}`,
  });

const newer = (place: DatabasePlace, unknown: readonly string[], known: readonly Migration[]): AppError =>
  new AppError({
    code: 'conflict',
    message:
      `${place.file} was written by a newer version: it has the migration ${unknown.join(', ')}, ` +
      `and this program knows ${known.map((migration) => migration.name).join(', ')}. Nothing was changed.`,
    hint: `run the newer version; or go back to this one's last state: ${restoreHint(place)}`,
  });

const damaged = (place: DatabasePlace, why: string, cause?: unknown): AppError =>
  new AppError({
    code: 'config',
    message: `${place.file} can't be used as a database: ${why}. Nothing was changed.`,
    hint: restoreHint(place),
    cause,
  });

const locked = (file: string, cause: unknown): AppError =>
  new AppError({
    code: 'conflict',
    message: `${file} is locked by another process`,
    hint: `find it with: fuser -v ${file}; then try again`,
    cause,
  });

const DAMAGE: ReadonlySet<string> = new Set(['SQLITE_CORRUPT', 'SQLITE_NOTADB']);

const namingFile = <T>(place: DatabasePlace, open: () => T): T => {
  try {
    return open();
  } catch (thrown) {
    if (!(thrown instanceof Database.SqliteError)) throw thrown;
    if (isBusy(thrown)) throw locked(place.file, thrown);
    const why = `${thrown.message} (${thrown.code})`;
    if (DAMAGE.has(thrown.code)) throw damaged(place, why, thrown);
    const message = `${place.file} can't be opened: ${why}`;
    throw new AppError({ code: 'config', message, hint: 'tierclaw doctor', cause: thrown });
  }
};
