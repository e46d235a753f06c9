/**
 * Message stores to copy from, made once and kept below the temporary directory: a big one takes half a minute to make.
 * The directory's name is a digest of what makes them, so a store of another schema is never taken for one of this.
 */
import { createHash } from 'node:crypto';
import { mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { GroupId } from '../../src/domain/ids.ts';
import { type Home, homeAt } from '../../src/home.ts';
import { packageRoot } from '../../src/package-root.ts';
import { openStores } from '../../src/store/stores.ts';

const PREFIX = 'tierclaw-bench-stores-';
/** Changes whenever the stores' content does. */
const GENERATION = 4;
export const MESSAGES_PER_CHAT = 1000;

export const chatAt = (at: number): GroupId => GroupId.parse(`local:chat-${at}`);

const WORDS = 'somebody says something in this chat and somebody else answers with a few more words of it'.split(' ');

/** 40 to 360 characters, all different: what people write, for a database. */
const textOf = (number: number): string => {
  const words = Array.from({ length: 8 + (number % 60) }, (_, at) => WORDS[(number * 7 + at * 3) % WORDS.length]);
  return `${number} ${words.join(' ')}`;
};

/** Scattered like a network's ids, and much quicker than random ones. */
const idOf = (number: number): string => `${Math.imul(number, 2_654_435_761) >>> 0}-${number}`;

/** Chats talk by turns, as they do: so a chat's rows lie all over the file, not in one piece of it. */
const fill = (file: string, chats: number): void => {
  const database = new Database(file);
  // Nobody else has the file open, and one that is half made is made again.
  database.pragma('journal_mode = OFF');
  database.pragma('synchronous = OFF');
  database.pragma('cache_size = -1000000');
  const chat = database.prepare(`INSERT INTO chats (chat_id, name, channel, is_group) VALUES (?, ?, 'local', 1)`);
  const message = database.prepare(
    `INSERT INTO messages (chat_id, seq, id, sender_id, sender_name, content, sent_at)
     VALUES (?, ?, ?, ?, ?, ?, '2026-01-02T03:04:05.678Z')`,
  );
  const reaction = database.prepare(
    `INSERT INTO reactions (chat_id, message_id, sender_id, emoji, reacted_at)
     VALUES (?, ?, '7', '👍', '2026-01-02T03:04:05.678Z')`,
  );
  const sayAll = (seq: number): void => {
    for (let at = 0; at < chats; at += 1) {
      const id = idOf(seq * chats + at);
      message.run(chatAt(at), seq, id, `${seq % 9}`, `Person ${seq % 9}`, textOf(seq * chats + at));
      if (seq % 10 === 0) reaction.run(chatAt(at), id);
    }
  };
  database.transaction(() => {
    for (let at = 0; at < chats; at += 1) chat.run(chatAt(at), `Chat ${at}`);
  })();
  for (let seq = 1; seq <= MESSAGES_PER_CHAT; seq += 1) database.transaction(sayAll)(seq);
  database.pragma('journal_mode = WAL');
  database.close();
};

/** Else the first copies would wait for the disk to write the store itself. */
const syncFile = async (file: string): Promise<void> => {
  const handle = await open(file, 'r');
  await handle.sync();
  await handle.close();
};

const make = async (home: Home, chats: number): Promise<void> => {
  openStores(home, Date.now).close();
  fill(home.messageDatabase, chats);
  await syncFile(home.messageDatabase);
  await writeFile(join(home.dir, 'complete'), '');
};

const digest = async (): Promise<string> => {
  const hash = createHash('sha256').update(String(GENERATION));
  const directory = join(packageRoot(), 'src', 'store', 'migrations', 'messages');
  for (const name of (await readdir(directory)).sort()) hash.update(await readFile(join(directory, name)));
  return hash.digest('hex').slice(0, 12);
};

const removeOthers = async (keep: string): Promise<void> => {
  for (const name of await readdir(tmpdir())) {
    if (name.startsWith(PREFIX) && name !== keep) await rm(join(tmpdir(), name), { recursive: true, force: true });
  }
};

/** A home whose message store has that many chats of `MESSAGES_PER_CHAT` messages each; nothing else is in it. */
export const storeWith = async (chats: number, tell: (line: string) => void): Promise<Home> => {
  const name = `${PREFIX}${await digest()}`;
  await removeOthers(name);
  const home = homeAt(join(tmpdir(), name, String(chats)));
  const isMade = await stat(join(home.dir, 'complete')).catch(() => null);
  if (isMade !== null) return home;
  tell(`making a store of ${chats * MESSAGES_PER_CHAT} messages in ${home.dir}`);
  await mkdir(dirname(home.dir), { recursive: true, mode: 0o700 });
  const temporary = `${home.dir}.${process.pid}`;
  try {
    await make(homeAt(temporary), chats);
    await rm(home.dir, { recursive: true, force: true });
    await rename(temporary, home.dir);
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
  return home;
};
