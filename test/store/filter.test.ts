import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { writeFilteredCopy } from '../../src/store/filter.ts';
import { CELLAR, freshDirectory, freshStores, LOBBY, message, openFile } from './fixture.ts';

const FOREIGN = 'FOREIGN-BYTES-OF-ANOTHER-CHAT';

/** A live store in WAL mode with that schema, the connection that writes it, and the copy of the chat `a`. */
const filtered = (schema: string, chat = 'a', windowMessages = 100) => {
  const directory = freshDirectory();
  const source = join(directory, 'live.db');
  const target = join(directory, 'copy', 'messages.db');
  const live = openFile(source);
  live.pragma('journal_mode = WAL');
  live.exec(schema);
  execFileSync('mkdir', [join(directory, 'copy')]);
  writeFilteredCopy({ source, target, chat, windowMessages });
  return { live, source, target, copy: openFile(target, { readonly: true }) };
};

const all = (database: Database.Database, sql: string): unknown[] => database.prepare(sql).raw().all();

const names = (database: Database.Database): unknown[] =>
  database.prepare(`SELECT type || ' ' || name FROM sqlite_schema ORDER BY 1`).pluck().all();

/** Tables of every kind that a later version may bring; `rows` are those of chat a in the copy, column by column. */
const SCHEMAS: readonly { what: string; schema: string; query: string; rows: unknown[]; made: string[] }[] = [
  {
    what: 'generated columns, virtual and stored',
    schema: `CREATE TABLE t (chat_id TEXT, x INTEGER, v AS (x * 2) VIRTUAL, s AS (x * 3) STORED, PRIMARY KEY (chat_id, x));
      INSERT INTO t (chat_id, x) VALUES ('a', 1), ('b', 2)`,
    query: 'SELECT chat_id, x, v, s FROM t',
    rows: [['a', 1, 2, 3]],
    made: ['index sqlite_autoindex_t_1', 'table t'],
  },
  {
    what: 'a generated chat key',
    schema: `CREATE TABLE t (raw TEXT, chat_id TEXT AS (lower(raw)) STORED);
      INSERT INTO t (raw) VALUES ('A'), ('B')`,
    query: 'SELECT raw, chat_id FROM t',
    rows: [['A', 'a']],
    made: ['table t'],
  },
  {
    what: 'children before their parents, and parents that are left out',
    schema: `CREATE TABLE users (id INTEGER PRIMARY KEY);
      CREATE TABLE z_parent (chat_id TEXT, n INTEGER, PRIMARY KEY (chat_id, n));
      CREATE TABLE child (chat_id TEXT, n INTEGER, u REFERENCES users (id),
        FOREIGN KEY (chat_id, n) REFERENCES z_parent (chat_id, n));
      INSERT INTO users VALUES (1);
      INSERT INTO z_parent VALUES ('a', 1), ('b', 1); INSERT INTO child VALUES ('a', 1, 1), ('b', 1, 1)`,
    query: 'SELECT c.chat_id, c.n, u, p.n FROM child c JOIN z_parent p USING (chat_id)',
    rows: [['a', 1, 1, 1]],
    made: ['index sqlite_autoindex_z_parent_1', 'table child', 'table z_parent'],
  },
  {
    what: 'WITHOUT ROWID, STRICT and CHECK',
    schema: `CREATE TABLE t (chat_id TEXT NOT NULL, n INTEGER CHECK (n > 0), b BLOB, PRIMARY KEY (chat_id, n)) STRICT, WITHOUT ROWID;
      INSERT INTO t VALUES ('a', 1, x'00ff'), ('b', 1, x'00')`,
    query: 'SELECT chat_id, n, hex(b) FROM t',
    rows: [['a', 1, '00FF']],
    made: ['table t'],
  },
  {
    what: 'quoted, odd names',
    schema: `CREATE TABLE "we""ird; DROP" (chat_id TEXT, "a""b" TEXT, "select" TEXT, [sp ace] TEXT, "ü" TEXT);
      CREATE INDEX "in""dex" ON "we""ird; DROP" (chat_id, "a""b");
      INSERT INTO "we""ird; DROP" VALUES ('a', '1', '2', '3', '4'), ('b', '5', '6', '7', '8')`,
    query: 'SELECT * FROM "we""ird; DROP"',
    rows: [['a', '1', '2', '3', '4']],
    made: ['index in"dex', 'table we"ird; DROP'],
  },
  {
    what: 'a table that is called like a database',
    schema: `CREATE TABLE live (chat_id TEXT); CREATE TABLE main (chat_id TEXT); CREATE TABLE temp (chat_id TEXT);
      INSERT INTO live VALUES ('a'), ('b'); INSERT INTO main VALUES ('a'), ('b'); INSERT INTO temp VALUES ('b')`,
    query: 'SELECT live.chat_id, main.chat_id, (SELECT count(*) FROM temp) FROM live, main',
    rows: [['a', 'a', 0]],
    made: ['table live', 'table main', 'table temp'],
  },
  {
    what: 'partial and expression indexes',
    schema: `CREATE TABLE t (chat_id TEXT, x TEXT);
      CREATE INDEX p ON t (chat_id) WHERE x IS NOT NULL; CREATE UNIQUE INDEX e ON t (chat_id, lower(x));
      INSERT INTO t VALUES ('a', 'X'), ('b', 'X')`,
    query: `SELECT * FROM t INDEXED BY e WHERE chat_id = 'a' AND lower(x) = 'x'`,
    rows: [['a', 'X']],
    made: ['index e', 'index p', 'table t'],
  },
  {
    what: 'AUTOINCREMENT, whose counter is the copy’s own',
    schema: `CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT, chat_id TEXT);
      INSERT INTO t (chat_id) VALUES ('b'), ('a'), ('b'), ('b')`,
    query: 'SELECT t.id, chat_id, seq FROM t, sqlite_sequence',
    rows: [[2, 'a', 2]],
    made: ['table sqlite_sequence', 'table t'],
  },
  {
    what: 'full-text tables with a chat column, their shadows and another virtual table',
    schema: `CREATE TABLE t (chat_id TEXT);
      CREATE VIRTUAL TABLE f USING fts5 (chat_id, content); CREATE VIRTUAL TABLE r USING rtree (id, x0, x1, +chat_id);
      INSERT INTO t VALUES ('a'), ('b');
      INSERT INTO f VALUES ('a', 'mine'), ('b', '${FOREIGN}'); INSERT INTO r VALUES (1, 0, 1, '${FOREIGN}')`,
    query: 'SELECT * FROM t',
    rows: [['a']],
    made: ['table t'],
  },
  {
    what: 'views and triggers',
    schema: `CREATE TABLE t (chat_id TEXT); CREATE TABLE log (x TEXT);
      CREATE VIEW v AS SELECT chat_id FROM t;
      CREATE TRIGGER tr AFTER INSERT ON t BEGIN INSERT INTO log VALUES ('${FOREIGN}'); END;
      INSERT INTO t VALUES ('a'), ('b')`,
    query: 'SELECT * FROM t',
    rows: [['a']],
    made: ['table t'],
  },
  {
    what: 'tables without the chat key',
    schema: `CREATE TABLE t (chat_id TEXT); CREATE TABLE secret (chat TEXT, "chat_id " TEXT DEFAULT '${FOREIGN}');
      CREATE INDEX s ON secret (chat); INSERT INTO t VALUES ('a'); INSERT INTO secret VALUES ('a', '${FOREIGN}')`,
    query: 'SELECT * FROM t',
    rows: [['a']],
    made: ['table t'],
  },
  {
    what: 'a chat key in capitals, with a collation that mixes chats up',
    schema: `CREATE TABLE t (CHAT_ID TEXT COLLATE NOCASE, x TEXT); INSERT INTO t VALUES ('a', 'mine'), ('A', '${FOREIGN}');
      CREATE TABLE n (chat_id NUMERIC); INSERT INTO n VALUES ('a'), ('b')`,
    query: 'SELECT x, n.chat_id FROM t, n',
    rows: [['mine', 'a']],
    made: ['table n', 'table t'],
  },
  {
    what: 'a table without any of this chat’s rows',
    schema: `CREATE TABLE t (chat_id TEXT, x); INSERT INTO t VALUES ('b', '${FOREIGN}'), (NULL, '${FOREIGN}')`,
    query: 'SELECT * FROM t',
    rows: [],
    made: ['table t'],
  },
];

describe('a filtered copy', () => {
  it.each(SCHEMAS)('handles $what', ({ schema, query, rows, made }) => {
    const { copy, target } = filtered(schema);
    expect(all(copy, query)).toEqual(rows);
    expect(names(copy)).toEqual(made);
    expect(copy.pragma('integrity_check', { simple: true })).toBe('ok');
    expect(readFileSync(target).includes(FOREIGN)).toBe(false);
  });

  it.each([`it's`, `"quoted"`, `a' OR '1'='1`, 'a"; DROP TABLE t; --', '%', 'é🦀'])(
    'takes the chat id %s as it is',
    (id) => {
      const literal = `'${id.replaceAll("'", "''")}'`;
      const { copy, live } = filtered(
        `CREATE TABLE t (chat_id TEXT, x TEXT); INSERT INTO t VALUES (${literal}, 'mine'), ('a', 'foreign')`,
        id,
      );
      expect(all(copy, 'SELECT x FROM t')).toEqual([['mine']]);
      expect(all(live, 'SELECT count(*) FROM t')).toEqual([[2]]);
    },
  );

  it('keeps constraints, so that a copy that is written to elsewhere stays sound', () => {
    const { target } = filtered(
      `CREATE TABLE t (chat_id TEXT NOT NULL DEFAULT 'd', n INTEGER CHECK (n > 0), PRIMARY KEY (chat_id, n));
       INSERT INTO t VALUES ('a', 1)`,
    );
    const copy = openFile(target);
    expect(() => copy.exec(`INSERT INTO t VALUES ('a', 1)`)).toThrow(/UNIQUE/);
    expect(() => copy.exec(`INSERT INTO t VALUES ('a', 0)`)).toThrow(/CHECK/);
    expect(() => copy.exec(`INSERT INTO t VALUES (NULL, 2)`)).toThrow(/NOT NULL/);
  });

  it('takes a new column along by itself', () => {
    const { copy, live, source, target } = filtered(`CREATE TABLE t (chat_id TEXT); INSERT INTO t VALUES ('a')`);
    copy.close();
    live.exec(`ALTER TABLE t ADD COLUMN mood TEXT DEFAULT 'calm'; INSERT INTO t VALUES ('a', 'gay'), ('b', 'sad')`);
    writeFilteredCopy({ source, target, chat: 'a', windowMessages: 5 });
    expect(all(openFile(target, { readonly: true }), 'SELECT chat_id, mood FROM t')).toEqual([
      ['a', 'calm'],
      ['a', 'gay'],
    ]);
  });

  it('has only the newest messages, and only what belongs to them', () => {
    const { copy } = filtered(
      `CREATE TABLE messages (chat_id TEXT, seq INTEGER, id TEXT, PRIMARY KEY (chat_id, seq));
       CREATE TABLE alpha (chat_id TEXT, message_id TEXT, x TEXT); CREATE TABLE other (chat_id TEXT, x TEXT);
       INSERT INTO messages VALUES ('a', 1, 'm1'), ('a', 2, 'm2'), ('a', 9, 'm9'), ('b', 10, 'm10'), ('b', 2, 'm2');
       INSERT INTO alpha VALUES ('a', 'm1', 'old'), ('a', 'm2', 'kept'), ('a', 'm9', 'kept'), ('a', 'm10', 'no'),
         ('b', 'm2', 'foreign'), ('a', NULL, 'no');
       INSERT INTO other VALUES ('a', 'all'), ('a', 'of it')`,
      'a',
      2,
    );
    expect(all(copy, 'SELECT id FROM messages ORDER BY seq')).toEqual([['m2'], ['m9']]);
    expect(all(copy, 'SELECT DISTINCT x FROM alpha')).toEqual([['kept']]);
    expect(all(copy, 'SELECT count(*) FROM other')).toEqual([[2]]);
  });

  it('is a plain file with a rollback journal that anyone may read, with nothing beside it', () => {
    const { copy, target } = filtered(`CREATE TABLE t (chat_id TEXT); INSERT INTO t VALUES ('a')`);
    expect(copy.pragma('journal_mode', { simple: true })).toBe('delete');
    expect([...readFileSync(target).subarray(18, 20)]).toEqual([1, 1]);
    expect((statSync(target).mode & 0o777).toString(8)).toBe('644');
    expect(readdirSync(join(target, '..'))).toEqual(['messages.db']);
    expect(copy.pragma('freelist_count', { simple: true })).toBe(0);
  });

  it('replaces an earlier one in one step: whoever has that open keeps reading it', () => {
    const { copy, live, source, target } = filtered(`CREATE TABLE t (chat_id TEXT); INSERT INTO t VALUES ('a')`);
    const inode = statSync(target).ino;
    live.exec(`INSERT INTO t VALUES ('a')`);
    writeFilteredCopy({ source, target, chat: 'a', windowMessages: 5 });
    expect(statSync(target).ino).not.toBe(inode);
    expect(all(copy, 'SELECT count(*) FROM t')).toEqual([[1]]);
  });

  it('of a store that is not there is refused, and neither file is made', () => {
    const directory = freshDirectory();
    const source = join(directory, 'missing.db');
    expect(() =>
      writeFilteredCopy({ source, target: join(directory, 'copy.db'), chat: 'a', windowMessages: 5 }),
    ).toThrow(expect.objectContaining({ code: 'not-found', message: expect.stringContaining(source) }));
    expect(readdirSync(directory)).toEqual([]);
  });

  it('that fails leaves the earlier one and nothing else', () => {
    const directory = freshDirectory();
    const target = join(directory, 'copy.db');
    writeFileSync(target, 'the earlier one');
    writeFileSync(join(directory, 'live.db'), 'this is no database at all '.repeat(100));
    expect(() =>
      writeFilteredCopy({ source: join(directory, 'live.db'), target, chat: 'a', windowMessages: 5 }),
    ).toThrow(/not a database/);
    expect(readFileSync(target, 'utf8')).toBe('the earlier one');
    expect(readdirSync(directory)).toEqual(['copy.db', 'live.db']);
  });
});

describe('a filtered copy of the message store', () => {
  const twoChats = () => {
    const open = freshStores();
    for (let number = 0; number < 300; number += 1) {
      const text = `${FOREIGN} ${number} `.repeat(30);
      const foreign = { chat: CELLAR, text, senderName: FOREIGN, senderId: FOREIGN };
      open.stores.messages.saveInbound(message(`m${number}`, foreign));
      open.stores.messages.saveInbound(message(`m${number}`, { text: `mine ${number}` }));
    }
    const target = join(freshDirectory(), 'messages.db');
    writeFilteredCopy({ source: open.home.messageDatabase, target, chat: LOBBY, windowMessages: 250 });
    return { target, copy: openFile(target, { readonly: true }) };
  };

  it('has these columns and no others', () => {
    const { copy } = twoChats();
    const columns = copy
      .prepare(
        `SELECT t.name || '.' || c.name FROM sqlite_schema t, pragma_table_info(t.name) c
         WHERE t.type = 'table' ORDER BY t.name, c.cid`,
      )
      .pluck()
      .all();
    expect(columns).toMatchInlineSnapshot(`
      [
        "attachments.chat_id",
        "attachments.message_id",
        "attachments.position",
        "attachments.file_name",
        "attachments.media_type",
        "attachments.bytes",
        "attachments.path",
        "chats.chat_id",
        "chats.name",
        "chats.channel",
        "chats.is_group",
        "chats.last_message_at",
        "messages.chat_id",
        "messages.seq",
        "messages.id",
        "messages.thread_id",
        "messages.sender_id",
        "messages.sender_name",
        "messages.content",
        "messages.sent_at",
        "messages.is_from_me",
        "messages.reply_to_id",
        "messages.edited_at",
        "reactions.chat_id",
        "reactions.message_id",
        "reactions.sender_id",
        "reactions.emoji",
        "reactions.sender_name",
        "reactions.reacted_at",
      ]
    `);
  });

  it('has no byte of another chat', () => {
    const { target, copy } = twoChats();
    const bytes = readFileSync(target);
    expect(bytes.includes(FOREIGN)).toBe(false);
    expect(bytes.includes('cellar')).toBe(false);
    expect(bytes.includes('mine 299')).toBe(true);
    expect(all(copy, 'SELECT count(*), min(seq), max(seq) FROM messages')).toEqual([[250, 51, 300]]);
    expect(copy.pragma('foreign_key_check')).toEqual([]);
    expect(existsSync(`${target}-journal`)).toBe(false);
  });
});
