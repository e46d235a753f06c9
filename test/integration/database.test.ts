import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Installation, install } from './installation.ts';

/** Reads with both clients of the image for a while, then holds a read lock until the turn ends. */
const READERS =
  'run: cd /workspace/store; bad=0; for i in $(seq 15); do ' +
  'sqlite3 messages.db "pragma integrity_check" | grep -qx ok || bad=$((bad+1)); ' +
  `node -e 'const {DatabaseSync}=require("node:sqlite");const d=new DatabaseSync("messages.db",{readOnly:true});if(d.prepare("select count(*) n from messages").get().n<1)process.exit(1)' 2>/dev/null || bad=$((bad+1)); ` +
  'done; echo bad=$bad; ls; ' +
  'sqlite3 messages.db "pragma journal_mode=wal" 2>&1; sqlite3 messages.db "delete from messages" 2>&1; ' +
  'sqlite3 messages.db ".output /dev/null" "begin" "select * from messages" ".shell sleep 2" && echo held';

describe.each(['main', 'friends', 'lobby'])('the database of a turn in %s', (folder) => {
  let installation: Installation;

  beforeAll(async () => {
    installation = await install();
    await installation.say(folder, 'run: true');
  });
  afterAll(() => installation?.close());

  it('is read by both clients while the host writes at full speed and checkpoints, and nobody waits', async () => {
    const { done, writes, busy, reply } = await whileWriting();
    expect(done.reason).toBe('completed');
    expect(reply).toContain('bad=0');
    expect(reply).toContain('held');
    expect(busy).toEqual([]);
    expect(writes).toBeGreaterThan(100);
  });

  it('is one file without sidecars, which can’t be written or turned into another kind', async () => {
    const { reply } = await installation.say(folder, READERS.replace('seq 15', 'seq 1'));
    expect(reply).toMatch(/^messages\.db$/m);
    expect(reply).not.toMatch(/messages\.db-(wal|shm|journal)/);
    expect(reply).toMatch(/readonly database/);
  });

  /** A second connection of the host's writes and checkpoints until the turn is done. */
  const whileWriting = async () => {
    const store = new Database(installation.home.messageDatabase, { timeout: 2_000 });
    store.exec("INSERT INTO chats (chat_id, name, channel, is_group) VALUES ('local:other', 'other', 'local', 1)");
    const insert = store.prepare(
      "INSERT INTO messages (chat_id, seq, id, sender_id, sender_name, content, sent_at, is_from_me) VALUES ('local:other', ?, ?, 'x', 'x', ?, '2026-01-01T00:00:00.000Z', 0)",
    );
    const state = { writes: 0, ended: false };
    const busy: unknown[] = [];
    const write = (): void => {
      if (state.ended) return;
      try {
        insert.run(state.writes + 1, `w${state.writes}`, 'x'.repeat(500));
        state.writes += 1;
        if (state.writes % 50 === 0) store.pragma('wal_checkpoint(PASSIVE)');
      } catch (thrown) {
        busy.push(thrown);
      }
      setImmediate(write);
    };
    const turn = installation.say(folder, READERS);
    write();
    const { done, reply } = await turn;
    state.ended = true;
    expect(store.pragma('wal_checkpoint(TRUNCATE)')).toEqual([{ busy: 0, log: 0, checkpointed: 0 }]);
    store.close();
    return { done, reply, writes: state.writes, busy };
  };
});
