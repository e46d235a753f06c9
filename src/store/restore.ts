/**
 * Puts a backup in the place of a database. Invariants: the database that was there is kept aside whole; whoever opens
 * the file finds none or the whole restored one; nothing that may have been answered is answered again by itself.
 */
import { chmodSync, copyFileSync, existsSync, mkdirSync, renameSync, statSync } from 'node:fs';
import { dirname, join, resolve, sep } from 'node:path';
import { AppError } from '../errors.ts';
import type { Home } from '../home.ts';
import { type Backup, compactDate, type DatabaseName, listBackups, readBackup } from './backup.ts';
import { databaseFile } from './backup-rounds.ts';
import { openDatabase } from './database.ts';
import { discard, SIDECARS, settleInto } from './files.ts';
import { countRows, type DatabaseState, inspectDatabase } from './inspect.ts';
import { refillHistory, shelveQueue } from './restore-content.ts';

export interface RestorePlan {
  readonly database: DatabaseName;
  /** What is replaced. */
  readonly file: string;
  readonly found: DatabaseState;
  readonly backup: Pick<Backup, 'file' | 'atMs' | 'bytes'>;
  /** Newer backups that can't be used. */
  readonly skipped: readonly string[];
  /** Rows per table, now (null: can't be read) and in the backup. */
  readonly rows: readonly { readonly table: string; readonly now: number | null; readonly inBackup: number }[];
}

export interface Restored {
  /** Where the replaced file is now; null: there was none. */
  readonly keptAs: string | null;
  /** Of `state`: messages and replies that are dead letters now. */
  readonly shelved: number;
  /** Of `messages`: messages put back from the state database. */
  readonly refilled: number;
}

/** A table that only a database of that name has: the two have migrations of the same name. */
const HALLMARK: Readonly<Record<DatabaseName, string>> = { state: 'inbound', messages: 'messages' };

const isUsable = (database: DatabaseName, file: string): boolean =>
  inspectDatabase(database, file).kind === 'whole' && countRows(file)?.has(HALLMARK[database]) === true;

const noBackup = (home: Home, database: DatabaseName, skipped: readonly string[]): AppError =>
  new AppError({
    code: 'not-found',
    message:
      skipped.length === 0
        ? `there is no backup of ${database} in ${home.backups}`
        : `no backup of ${database} can be used: ${skipped.join(', ')}`,
    hint: 'tierclaw db list; one from elsewhere: tierclaw db restore … --backup FILE',
  });

const newestUsable = (home: Home, database: DatabaseName): Pick<RestorePlan, 'backup' | 'skipped'> => {
  const skipped: string[] = [];
  for (const backup of listBackups(home.backups).filter((one) => one.database === database)) {
    if (isUsable(database, backup.file)) return { backup, skipped };
    skipped.push(backup.file);
  }
  throw noBackup(home, database, skipped);
};

/** A bare name is one of the home's own. */
const asked = (home: Home, database: DatabaseName, name: string): Pick<RestorePlan, 'backup' | 'skipped'> => {
  const file = name.includes(sep) ? resolve(name) : join(home.backups, name);
  if (!existsSync(file)) {
    throw new AppError({ code: 'not-found', message: `there is no ${file}`, hint: 'tierclaw db list' });
  }
  if (!isUsable(database, file)) {
    const state = inspectDatabase(database, file);
    const why = state.kind === 'whole' ? 'a whole database, but another one' : state.kind;
    throw new AppError({
      code: 'config',
      message: `${file} can't be restored as ${database}: it is ${why}`,
      hint: 'tierclaw db list shows which can',
    });
  }
  const { mtimeMs, size } = statSync(file);
  return { backup: { file, bytes: size, atMs: readBackup(file)?.atMs ?? mtimeMs }, skipped: [] };
};

/** What a restore would do; changes nothing. Throws AppError where there is no backup that can be used. */
export const planRestore = (home: Home, database: DatabaseName, backup: string | undefined): RestorePlan => {
  const file = databaseFile(home, database);
  const found = inspectDatabase(database, file);
  const chosen = backup === undefined ? newestUsable(home, database) : asked(home, database, backup);
  const now = found.kind === 'missing' ? null : countRows(file);
  const backedUp = countRows(chosen.backup.file) ?? new Map<string, number>();
  const tables = [...new Set([...backedUp.keys(), ...(now?.keys() ?? [])])].sort();
  const rows = tables.map((table) => ({ table, now: now?.get(table) ?? null, inBackup: backedUp.get(table) ?? 0 }));
  return { database, file, found, rows, ...chosen };
};

/** Nothing is deleted. Its sidecars go with it: beside another database they would be taken for that one's. */
const setAside = (file: string, nowMs: number): string | null => {
  const aside = `${file}.damaged-${compactDate(nowMs)}`;
  const there = ['', ...SIDECARS].filter((suffix) => existsSync(`${file}${suffix}`));
  for (const suffix of there) renameSync(`${file}${suffix}`, `${aside}${suffix}`);
  return there.includes('') ? aside : null;
};

/** The supervisor's lock must be held. `clock`: ms since 1970. Throws AppError; then what was there is there still. */
export const restore = (home: Home, plan: RestorePlan, clock: () => number): Restored => {
  const { database, file, backup } = plan;
  const temporary = `${file}.restoring`;
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  discard(temporary);
  copyFileSync(backup.file, temporary);
  chmodSync(temporary, 0o600);
  // Brought up to date and put in order before it has its name, so that no crash leaves it half-way.
  const opened = openDatabase({ name: database, file: temporary, backups: home.backups, clock });
  const content = { home, database: opened, sinceMs: backup.atMs };
  const done = { shelved: 0, refilled: 0 };
  try {
    if (database === 'state') done.shelved = shelveQueue(content);
    else done.refilled = refillHistory(content);
    opened.pragma('journal_mode = DELETE');
  } finally {
    opened.close();
  }
  const keptAs = setAside(file, clock());
  settleInto(temporary, file);
  return { keptAs, ...done };
};
