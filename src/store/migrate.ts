/**
 * Numbered SQL files, kept by name in the table `migrations`. Each runs whole or not at all, after a backup of whatever
 * was there before the run.
 */
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type Database from 'better-sqlite3';
import { z } from 'zod';
import { AppError } from '../errors.ts';
import { backupName, copyWhole, prune } from './backup.ts';

export interface Migration {
  /** The file's name without `.sql`, e.g. `0001-start`. */
  readonly name: string;
  readonly sql: string;
}

export interface MigrationRun {
  readonly database: Database.Database;
  readonly known: readonly Migration[];
  readonly place: { readonly name: string; readonly backups: string; readonly clock: () => number };
}

const FILE_NAME = /^\d{4}-[a-z0-9-]+\.sql$/;
const Names = z.array(z.strictObject({ name: z.string() }));

/** All migrations of that directory, by number. Throws AppError `internal` for a file that isn't named NNNN-name.sql. */
export const readMigrations = (directory: string): readonly Migration[] =>
  readdirSync(directory)
    .sort()
    .map((file) => {
      if (!FILE_NAME.test(file)) throw misnamed(join(directory, file));
      return { name: file.slice(0, -'.sql'.length), sql: readFileSync(join(directory, file), 'utf8') };
    });

const misnamed = (file: string): AppError =>
  new AppError({ code: 'internal', message: `${file} isn't named like a migration: NNNN-name.sql` });

/** Names in order; null where the database has no table of migrations. */
export const appliedMigrations = (database: Database.Database): readonly string[] | null => {
  const table = database.prepare(`SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'migrations'`).get();
  if (table === undefined) return null;
  return Names.parse(database.prepare('SELECT name FROM migrations ORDER BY name').all()).map((row) => row.name);
};

/** Runs what is pending, in order; foreign keys must be off. A failing one is undone and stops the run. */
export const migrate = (run: MigrationRun): void => {
  const applied = appliedMigrations(run.database) ?? [];
  const pending = run.known.filter((migration) => !applied.includes(migration.name));
  if (pending.length === 0) return;
  const last = applied.at(-1);
  if (last !== undefined) backUp(run, last);
  for (const migration of pending) apply(run, migration);
};

const apply = (run: MigrationRun, migration: Migration): void => {
  const { database, place } = run;
  const once = database.transaction(() => {
    // Another process may have done it while this one waited for the lock.
    if (appliedMigrations(database)?.includes(migration.name)) return;
    database.exec(`CREATE TABLE IF NOT EXISTS migrations (name TEXT NOT NULL PRIMARY KEY, applied_at TEXT NOT NULL)`);
    database.exec(migration.sql);
    refuseDangling(database);
    const appliedAt = new Date(place.clock()).toISOString();
    database.prepare('INSERT INTO migrations (name, applied_at) VALUES (?, ?)').run(migration.name, appliedAt);
  });
  try {
    once.immediate();
  } catch (thrown) {
    throw failed(run, migration, thrown);
  }
};

const refuseDangling = (database: Database.Database): void => {
  const dangling = database.prepare('PRAGMA foreign_key_check').all();
  if (dangling.length > 0) throw new Error(`${dangling.length} rows refer to rows that aren't there`);
};

const failed = (run: MigrationRun, migration: Migration, cause: unknown): AppError =>
  new AppError({
    code: 'internal',
    message:
      `migration ${migration.name} of ${run.database.name} failed and was undone: ` +
      `${cause instanceof Error ? cause.message : String(cause)}`,
    hint: `go back to the previous version; backups are in ${run.place.backups}`,
    cause,
  });

/** `<backups>/<database>-<date>-<last migration>.db`, 0600, consistent also while others write. */
const backUp = (run: MigrationRun, last: string): void => {
  const { database, place } = run;
  mkdirSync(place.backups, { recursive: true, mode: 0o700 });
  const file = join(place.backups, backupName(place.name, place.clock(), last));
  copyWhole(database.name, file);
  prune(place.backups, file);
};
