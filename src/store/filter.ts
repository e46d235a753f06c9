/**
 * The filtered copy: a database file with one chat's rows and nothing else. It is built from an empty file, so no page
 * of it ever held another chat's bytes; a table without the chat key is not copied; it appears under its name whole.
 */
import { chmodSync, writeFileSync } from 'node:fs';
import Database from 'better-sqlite3';
import { ulid } from 'ulid';
import { z } from 'zod';
import { AppError } from '../errors.ts';
import { discard, settleInto } from './files.ts';
import { BUSY_TIMEOUT_MS } from './patience.ts';

/** The chat key's column, the message reference's, and the table that the window is cut from. */
const CHAT_COLUMN = 'chat_id';
const MESSAGE_COLUMN = 'message_id';
const MESSAGES = 'messages';

export interface FilterJob {
  /** The live store. */
  readonly source: string;
  /** Replaced in one step. */
  readonly target: string;
  readonly chat: string;
  /** Newest messages to keep. */
  readonly windowMessages: number;
}

interface Table {
  readonly name: string;
  readonly sql: string;
  /** Those that hold a value of their own. */
  readonly stored: readonly string[];
  /** Generated ones too; lower case. */
  readonly all: ReadonlySet<string>;
}

const Tables = z.array(z.strictObject({ name: z.string(), sql: z.string() }));
const Columns = z.array(z.strictObject({ name: z.string(), hidden: z.number() }));
const Statements = z.array(z.strictObject({ sql: z.string() }));

/** Throws AppError `not-found` where there is no store; then and on any error nothing is left at or beside `target`. */
export const writeFilteredCopy = (job: FilterJob): void => {
  const temporary = `${job.target}.${ulid()}.tmp`;
  writeFileSync(temporary, '', { flag: 'wx', mode: 0o600 });
  try {
    build(temporary, job);
    chmodSync(temporary, 0o644);
    settleInto(temporary, job.target);
  } catch (thrown) {
    discard(temporary);
    throw thrown;
  }
};

const build = (file: string, job: FilterJob): void => {
  // fileMustExist holds for attached files too: without it a missing store would be made, empty.
  const database = new Database(file, { fileMustExist: true, timeout: BUSY_TIMEOUT_MS });
  try {
    // Parents may come after children, or be left out.
    database.pragma('foreign_keys = OFF');
    // The file is not precious until it is renamed; it is synced once, then.
    database.pragma('main.journal_mode = MEMORY');
    database.pragma('main.synchronous = OFF');
    database.pragma('main.secure_delete = ON');
    attach(database, job.source);
    // Deferred on purpose: one snapshot of the store, and no lock that a writer could run into.
    database.transaction(() => copyAll(database, job)).deferred();
  } finally {
    database.close();
  }
};

const attach = (database: Database.Database, source: string): void => {
  try {
    database.prepare('ATTACH ? AS live').run(source);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new AppError({ code: 'not-found', message: `the message store ${source} can't be read: ${why}`, cause });
  }
};

const copyAll = (database: Database.Database, job: FilterJob): void => {
  const tables = keyedTables(database);
  const messages = tables.find((table) => isWindowed(table));
  // First, because the window of the other tables is what this one has got.
  if (messages !== undefined) copyMessages(database, messages, job);
  for (const table of tables) {
    if (table !== messages) copyRows(database, table, { job, windowed: messages !== undefined });
  }
  for (const table of tables) createIndexes(database, table);
};

const isWindowed = (table: Table): boolean =>
  table.name.toLowerCase() === MESSAGES && table.all.has('seq') && table.all.has('id');

/** Ordinary tables with the chat key: no views, no virtual tables, none of their shadows, none of SQLite's own. */
const keyedTables = (database: Database.Database): Table[] => {
  const rows = database
    .prepare(
      `SELECT name, sql FROM live.sqlite_schema WHERE type = 'table' AND sql IS NOT NULL AND name IN (
         SELECT name FROM pragma_table_list WHERE schema = 'live' AND type = 'table')
       AND lower(substr(name, 1, 7)) <> 'sqlite_' ORDER BY name`,
    )
    .all();
  return Tables.parse(rows)
    .map((row) => ({ ...row, ...columnsOf(database, row.name) }))
    .filter((table) => table.all.has(CHAT_COLUMN));
};

const columnsOf = (database: Database.Database, table: string): Pick<Table, 'stored' | 'all'> => {
  const rows = database.prepare(`SELECT name, hidden FROM pragma_table_xinfo(?, 'live')`).all(table);
  const columns = Columns.parse(rows);
  return {
    stored: columns.filter((column) => column.hidden === 0).map((column) => column.name),
    all: new Set(columns.map((column) => column.name.toLowerCase())),
  };
};

const copyMessages = (database: Database.Database, table: Table, job: FilterJob): void => {
  const live = `live.${quoted(table.name)}`;
  const oldest = `SELECT min(seq) FROM (SELECT seq FROM ${live} WHERE ${OF_CHAT} ORDER BY seq DESC LIMIT :window)`;
  copy(database, table, { where: `${OF_CHAT} AND seq >= (${oldest})`, job });
};

const copyRows = (database: Database.Database, table: Table, how: { job: FilterJob; windowed: boolean }): void => {
  const narrowed = how.windowed && table.all.has(MESSAGE_COLUMN);
  const where = narrowed ? `${OF_CHAT} AND ${MESSAGE_COLUMN} IN (SELECT id FROM main.${MESSAGES})` : OF_CHAT;
  copy(database, table, { where, job: how.job });
};

/** BINARY, because a column may be declared with a collation in which two chats' ids are equal. */
const OF_CHAT = `${CHAT_COLUMN} = :chat COLLATE BINARY`;

const copy = (database: Database.Database, table: Table, how: { where: string; job: FilterJob }): void => {
  database.exec(table.sql);
  const columns = table.stored.map(quoted).join(', ');
  const name = quoted(table.name);
  database
    .prepare(`INSERT INTO main.${name} (${columns}) SELECT ${columns} FROM live.${name} WHERE ${how.where}`)
    .run({ chat: how.job.chat, window: how.job.windowMessages });
};

/** Those that SQLite makes for keys come with the table and have no SQL. */
const createIndexes = (database: Database.Database, table: Table): void => {
  const rows = database
    .prepare(
      `SELECT sql FROM live.sqlite_schema WHERE type = 'index' AND sql IS NOT NULL AND tbl_name = ? ORDER BY name`,
    )
    .all(table.name);
  for (const { sql } of Statements.parse(rows)) database.exec(sql);
};

const quoted = (identifier: string): string => `"${identifier.replaceAll('"', '""')}"`;
