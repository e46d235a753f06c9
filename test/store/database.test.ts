import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type Database from 'better-sqlite3';
import { describe, expect, it, onTestFinished } from 'vitest';
import { AppError } from '../../src/errors.ts';
import { openDatabase } from '../../src/store/database.ts';
import { openStores } from '../../src/store/stores.ts';
import { freshDirectory, freshHome, freshStores, openFile, StandingClock } from './fixture.ts';

const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);

/** A database place with migrations of the test's own. */
const place = (migrations: Record<string, string>) => {
  const directory = freshDirectory();
  const add = (files: Record<string, string>): void => {
    for (const [name, sql] of Object.entries(files)) writeFileSync(join(directory, 'sql', name), sql);
  };
  mkdirSync(join(directory, 'sql'));
  add(migrations);
  const clock = new StandingClock();
  const options = {
    name: 'state' as const,
    file: join(directory, 'state.db'),
    backups: join(directory, 'backups'),
    migrations: join(directory, 'sql'),
    clock: clock.read,
  };
  const open = (): Database.Database => {
    const database = openDatabase(options);
    onTestFinished(() => {
      database.close();
    });
    return database;
  };
  const backups = (): string[] => {
    try {
      return readdirSync(options.backups);
    } catch {
      return []; // No backup has been made yet.
    }
  };
  return { ...options, add, open, backups, directory: options.backups };
};

const errorOf = (act: () => unknown): AppError => {
  try {
    act();
  } catch (thrown) {
    if (thrown instanceof AppError) return thrown;
    throw thrown;
  }
  throw new Error('nothing was thrown');
};

const tablesOf = (database: Database.Database): unknown[] =>
  database.prepare(`SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name`).pluck().all();

describe('opening a home', () => {
  it('makes private files, whatever the umask', () => {
    const before = process.umask(0);
    onTestFinished(() => {
      process.umask(before);
    });
    const { home } = freshStores();
    expect(modeOf(home.data)).toBe('700');
    expect(modeOf(home.stateDatabase)).toBe('600');
    expect(modeOf(home.messageDatabase)).toBe('600');
    expect(modeOf(`${home.messageDatabase}-wal`)).toBe('600');
  });

  it('makes an existing data directory private', () => {
    const home = freshHome();
    mkdirSync(home.data, { recursive: true });
    const stores = openStores(home, Date.now);
    onTestFinished(() => stores.close());
    expect(modeOf(home.data)).toBe('700');
  });

  it('opens a second time without a backup, and closes twice', () => {
    const { home, stores } = freshStores();
    stores.close();
    stores.close();
    openStores(home, Date.now).close();
    expect(() => readdirSync(home.backups)).toThrow();
  });

  it('closes the first database when the second is refused', () => {
    const home = freshHome();
    mkdirSync(join(home.data, 'store'), { recursive: true });
    writeFileSync(home.messageDatabase, 'no database at all, but long enough to look like something'.repeat(20));
    expect(errorOf(() => openStores(home, Date.now))).toMatchObject({ code: 'config' });
    expect(readdirSync(home.data)).not.toContain('state.db-wal');
  });

  it.each(['stateDatabase', 'messageDatabase'] as const)('gives %s keys that begin with the chat key', (which) => {
    const { home } = freshStores();
    const database = openFile(home[which], { readonly: true });
    const keyed = database
      .prepare(
        `SELECT t.name FROM sqlite_schema t, pragma_table_xinfo(t.name) c WHERE t.type = 'table' AND c.name = 'chat_id'`,
      )
      .pluck()
      .all();
    const served = database
      .prepare(
        `SELECT DISTINCT t.name FROM sqlite_schema t, pragma_index_list(t.name) i, pragma_index_info(i.name) c
         WHERE t.type = 'table' AND c.seqno = 0 AND c.name = 'chat_id' AND i.partial = 0`,
      )
      .pluck()
      .all();
    expect(keyed.length).toBeGreaterThan(0);
    expect(served.sort()).toEqual(keyed.sort());
  });
});

describe('a database', () => {
  it('has the durability and the checks that the stores rely on', () => {
    const database = place({ '0001-start.sql': 'CREATE TABLE t (x)' }).open();
    const pragma = (name: string): unknown => database.pragma(name, { simple: true });
    expect(pragma('journal_mode')).toBe('wal');
    expect(pragma('synchronous')).toBe(1);
    expect(pragma('foreign_keys')).toBe(1);
    expect(pragma('busy_timeout')).toBe(5000);
  });

  it.each([
    ['text', 'hello, this is no database. '.repeat(100)],
    ['a few bytes', 'x'],
  ])('is refused and left alone when the file holds %s', (_what, content) => {
    const here = place({ '0001-start.sql': 'CREATE TABLE t (x)' });
    writeFileSync(here.file, content);
    const error = errorOf(here.open);
    expect(error.code).toBe('config');
    expect(error.message).toContain(here.file);
    expect(readFileSync(here.file, 'utf8')).toBe(content);
  });

  it('is refused when it belongs to another program', () => {
    const here = place({ '0001-start.sql': 'CREATE TABLE t (x)' });
    openFile(here.file).exec('CREATE TABLE messages (chat_jid TEXT)');
    const before = readFileSync(here.file);
    expect(errorOf(here.open)).toMatchObject({ code: 'config', message: expect.stringContaining(here.file) });
    expect(readFileSync(here.file).equals(before)).toBe(true);
  });
});

describe('migrations', () => {
  it('run once each, by name and in order', () => {
    const here = place({ '0001-one.sql': 'CREATE TABLE one (x)', '0002-two.sql': 'ALTER TABLE one ADD COLUMN y' });
    here.open().close();
    const database = here.open();
    expect(database.prepare('SELECT name, applied_at FROM migrations').all()).toEqual([
      { name: '0001-one', applied_at: '2026-01-02T03:04:05.000Z' },
      { name: '0002-two', applied_at: '2026-01-02T03:04:05.000Z' },
    ]);
    expect(here.backups()).toEqual([]);
  });

  it('are preceded by a backup of what was there', () => {
    const here = place({ '0001-one.sql': 'CREATE TABLE one (x)' });
    const first = here.open();
    first.exec('INSERT INTO one VALUES (42)');
    first.close();
    here.add({ '0002-two.sql': 'DROP TABLE one' });
    expect(tablesOf(here.open())).toEqual(['migrations']);
    expect(here.backups()).toEqual(['state-20260102T030405000Z-0001-one.db']);
    const backup = join(here.directory, here.backups()[0] ?? '');
    expect(modeOf(backup)).toBe('600');
    expect(openFile(backup, { readonly: true }).prepare('SELECT x FROM one').pluck().get()).toBe(42);
  });

  it('are undone whole when they fail half-way, and earlier ones stay', () => {
    const here = place({
      '0001-one.sql': 'CREATE TABLE one (x)',
      '0002-two.sql': 'CREATE TABLE two (x); INSERT INTO nowhere VALUES (1)',
      '0003-three.sql': 'CREATE TABLE three (x)',
    });
    const error = errorOf(here.open);
    expect(error.code).toBe('internal');
    expect(error.message).toContain('0002-two');
    expect(tablesOf(openFile(here.file, { readonly: true }))).toEqual(['migrations', 'one']);
    here.add({ '0002-two.sql': 'CREATE TABLE two (x)' });
    expect(tablesOf(here.open())).toEqual(['migrations', 'one', 'three', 'two']);
  });

  it('are undone when they leave a row without its parent', () => {
    const here = place({
      '0001-one.sql': 'CREATE TABLE p (id INTEGER PRIMARY KEY); CREATE TABLE c (p REFERENCES p ON DELETE CASCADE)',
    });
    const first = here.open();
    first.exec('INSERT INTO p VALUES (1); INSERT INTO c VALUES (1)');
    first.close();
    here.add({ '0002-two.sql': 'DELETE FROM p' });
    expect(errorOf(here.open).message).toContain('refer to rows');
    const kept = openFile(here.file, { readonly: true });
    expect(kept.prepare('SELECT count(*) FROM c').pluck().get()).toBe(1);
  });

  it('of a newer version are refused, and the file stays as it is', () => {
    const here = place({ '0001-one.sql': 'CREATE TABLE one (x)' });
    const first = here.open();
    first.exec(`INSERT INTO migrations VALUES ('0002-future', '2027-01-01T00:00:00.000Z')`);
    first.close();
    here.add({ '0003-other.sql': 'CREATE TABLE other (x)' });
    const before = readFileSync(here.file);
    const error = errorOf(here.open);
    expect(error.code).toBe('conflict');
    expect(error.message).toContain('0002-future');
    expect(readFileSync(here.file).equals(before)).toBe(true);
    expect(here.backups()).toEqual([]);
  });

  it('must be named with four digits', () => {
    expect(errorOf(place({ '1-one.sql': 'CREATE TABLE one (x)' }).open).message).toContain('1-one.sql');
  });
});
