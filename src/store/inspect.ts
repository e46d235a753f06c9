/** Looks at one of a home's databases without changing a byte of it: whether it is whole, ours, and of this version. */
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { z } from 'zod';
import { packageRoot } from '../package-root.ts';
import { headerTrouble } from './header.ts';
import { appliedMigrations, readMigrations } from './migrate.ts';
import { BUSY_TIMEOUT_MS } from './patience.ts';

export type DatabaseState =
  | { readonly kind: 'missing' }
  | { readonly kind: 'damaged'; readonly why: string }
  /** A database, but not one of ours. */
  | { readonly kind: 'foreign' }
  /** Migrations in it that this program doesn't know. */
  | { readonly kind: 'newer'; readonly unknown: readonly string[] }
  /** `pending`: migrations that the next start will run. */
  | { readonly kind: 'whole'; readonly bytes: number; readonly pending: readonly string[] };

const Checked = z.array(z.strictObject({ quick_check: z.string() }));

const judge = (database: Database.Database, known: readonly string[], file: string): DatabaseState => {
  const complaints = Checked.parse(database.pragma('quick_check(5)')).map((row) => row.quick_check);
  if (complaints[0] !== 'ok') return { kind: 'damaged', why: complaints.join('; ') };
  const applied = appliedMigrations(database);
  if (applied === null) return { kind: 'foreign' };
  const unknown = applied.filter((name) => !known.includes(name));
  if (unknown.length > 0) return { kind: 'newer', unknown };
  return { kind: 'whole', bytes: statSync(file).size, pending: known.filter((name) => !applied.includes(name)) };
};

/** Reads the whole file: seconds for one of gigabytes. Never throws for what is in the file. */
export const inspectDatabase = (name: 'state' | 'messages', file: string): DatabaseState => {
  if (!existsSync(file)) return { kind: 'missing' };
  const trouble = headerTrouble(file);
  if (trouble !== null) return { kind: 'damaged', why: trouble };
  const directory = join(packageRoot(), 'src', 'store', 'migrations', name);
  const known = readMigrations(directory).map((migration) => migration.name);
  try {
    const database = new Database(file, { readonly: true, fileMustExist: true, timeout: BUSY_TIMEOUT_MS });
    try {
      return judge(database, known, file);
    } finally {
      database.close();
    }
  } catch (thrown) {
    if (!(thrown instanceof Database.SqliteError)) throw thrown;
    return { kind: 'damaged', why: `${thrown.message} (${thrown.code})` };
  }
};

const Tables = z.array(z.string());

/** Rows of each ordinary table, without the migrations' own; null: they can't be counted. */
export const countRows = (file: string): ReadonlyMap<string, number> | null => {
  try {
    const database = new Database(file, { readonly: true, fileMustExist: true, timeout: BUSY_TIMEOUT_MS });
    try {
      const tables = Tables.parse(database.prepare(SELECT_TABLES).pluck().all());
      const count = (table: string) =>
        z.number().parse(database.prepare(`SELECT count(*) FROM "${table}"`).pluck().get());
      return new Map(tables.map((table) => [table, count(table)]));
    } finally {
      database.close();
    }
  } catch (thrown) {
    if (thrown instanceof Database.SqliteError) return null;
    throw thrown;
  }
};

const SELECT_TABLES = `SELECT name FROM sqlite_schema
  WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name <> 'migrations' AND name NOT LIKE '%"%' ORDER BY name`;
