import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { ulid } from 'ulid';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { GroupId } from '../../src/domain/ids.ts';
import { RetentionConfig } from '../../src/domain/retention-config.ts';
import { type Home, homeAt } from '../../src/home.ts';
import { packageRoot } from '../../src/package-root.ts';
import { LOOP_BUSY_TIMEOUT_MS } from '../../src/store/patience.ts';
import { filesToSend, type PrunedRows, pruneRows } from '../../src/store/retention.ts';
import { pruneRowsInThread } from '../../src/store/retention-thread.ts';
import { openStores } from '../../src/store/stores.ts';

const DAY_MS = 24 * 3_600_000;
const NOW = Date.parse('2026-06-01T12:00:00.000Z');
const CHAT = 'local:lobby';
const daysAgo = (days: number): number => NOW - days * DAY_MS;
const iso = (ms: number): string => new Date(ms).toISOString();

let home: Home;
let state: Database.Database;
let messages: Database.Database;
beforeEach(async () => {
  home = homeAt(await mkdtemp(join(tmpdir(), 'tierclaw-retention-')));
  openStores(home, () => NOW).close();
  state = new Database(home.stateDatabase);
  messages = new Database(home.messageDatabase);
});
afterEach(async () => {
  state.close();
  messages.close();
  await rm(home.dir, { recursive: true, force: true });
});

const prune = (policy: Partial<RetentionConfig> = {}, dryRun = false): PrunedRows[] =>
  pruneRows({
    state: home.stateDatabase,
    messages: home.messageDatabase,
    policy: { ...RetentionConfig.parse({}), ...policy },
    nowMs: NOW,
    dryRun,
  });

const removed = (rows: readonly PrunedRows[]) =>
  Object.fromEntries(
    rows.filter((row) => row.found > 0).map(({ kind, found, removed: gone }) => [kind, [found, gone]]),
  );

const count = (table: string, where = '1'): unknown =>
  state.prepare(`SELECT count(*) FROM ${table} WHERE ${where}`).pluck().get();

const addRun = (ageDays: number, run: 'ended' | 'running' = 'ended'): void => {
  const id = ulid(daysAgo(ageDays));
  state
    .prepare(
      `INSERT INTO invocations (id, group_id, session, tier, agent, state, created_at) VALUES (?, ?, 'default', 't', 'a', ?, ?)`,
    )
    .run(id, CHAT, run, iso(daysAgo(ageDays)));
  state.prepare(`INSERT INTO receipts VALUES (?, 1, 'bash', 'd', 'ok', ?)`).run(id, iso(NOW));
  state.prepare('INSERT INTO model_use VALUES (?, 1, 0, 1, 1)').run(id);
};

const addInbound = (status: string, ageDays: number): void => {
  state
    .prepare(
      `INSERT INTO inbound (chat_id, message_id, group_id, session, payload, status, received_at)
       VALUES (?, ?, ?, 'default', '{}', ?, ?)`,
    )
    .run(CHAT, ulid(), CHAT, status, daysAgo(ageDays));
};

const addReply = (status: string, ageDays: number, file: string | null = null): void => {
  const at = iso(daysAgo(ageDays));
  state
    .prepare(
      `INSERT INTO outbox (id, chat_id, text, status, created_at, next_at, sent_at, file) VALUES (?, ?, 'x', ?, ?, ?, ?, ?)`,
    )
    .run(ulid(daysAgo(ageDays)), CHAT, status, at, at, status === 'sent' ? at : null, file);
};

describe('retention of rows', () => {
  it('takes away ended runs with all that belongs to them, in as many rounds as it takes', () => {
    state.transaction(() => {
      for (let at = 0; at < 1203; at += 1) addRun(91);
    })();
    addRun(89);
    addRun(400, 'running');
    expect(removed(prune())).toEqual({ runs: [1203, 1203] });
    expect([count('invocations'), count('receipts'), count('model_use')]).toEqual([2, 2, 2]);
    expect(removed(prune())).toEqual({});
  });

  it.each([
    ['waiting', 1],
    ['running', 1],
    ['done', 0],
    ['failed', 0],
  ])('of messages that are %s, ever so old, leaves %i', (status, left) => {
    addInbound(status, 1000);
    prune();
    expect(count('inbound')).toBe(left);
  });

  it('gives dead letters up, by age and beyond their number; the newest stay', () => {
    addInbound('dead', 181);
    for (let at = 0; at < 5; at += 1) addInbound('dead', 10);
    expect(removed(prune({ deadPerChat: 3 }))).toMatchObject({
      'dead letters': [1, 1],
      'surplus dead letters': [2, 2],
    });
    expect(count('inbound', `status = 'dead'`)).toBe(3);
    expect(count('inbound', `status = 'dead' AND seq < 4`)).toBe(0);
    expect(count('inbound', `payload IS NOT NULL`)).toBe(3);
  });

  it('keeps what is still to be sent, and names its files', () => {
    const file = JSON.stringify({ name: 'a', bytes: 1, path: '/x/a' });
    addReply('pending', 999, file);
    addReply('sent', 999, file.replace('/x/a', '/x/b'));
    addReply('dead', 999);
    addReply('dead', 1);
    addReply('sent', 1);
    expect(filesToSend(home.stateDatabase)).toEqual(['/x/a']);
    expect(removed(prune())).toEqual({ 'delivered replies': [1, 1], 'dead replies': [1, 1] });
    expect(count('outbox')).toBe(3);
  });

  it('keeps the current conversation and a few former ones', () => {
    state.prepare('INSERT INTO sessions VALUES (?, ?, ?)').run(CHAT, 'default', 9);
    for (let epoch = 1; epoch <= 9; epoch += 1) {
      state.prepare('INSERT INTO transcripts VALUES (?, ?, ?, 1, ?, 2)').run(CHAT, 'default', epoch, '{}');
      state.prepare('INSERT INTO transcripts VALUES (?, ?, ?, 1, ?, 2)').run('local:other', 'default', 1, '{}');
      state.prepare(`DELETE FROM transcripts WHERE group_id = 'local:other' AND ${epoch} < 9`).run();
    }
    expect(removed(prune({ formerSessions: 2 }))).toEqual({ 'former conversations': [6, 6] });
    expect(state.prepare('SELECT min(epoch) FROM transcripts WHERE group_id = ?').pluck().get(CHAT)).toBe(7);
    expect(count('transcripts', `group_id = 'local:other'`)).toBe(1);
  });

  it('leaves history alone unless it is told otherwise, and then takes attachments along', () => {
    messages.prepare(`INSERT INTO chats (chat_id, name, channel, is_group) VALUES (?, 'x', 'local', 1)`).run(CHAT);
    const add = messages.prepare('INSERT INTO messages (chat_id, seq, id, content, sent_at) VALUES (?, ?, ?, ?, ?)');
    for (const [at, days] of [900, 900, 5].entries()) add.run(CHAT, at + 1, `m${at}`, 'x', iso(daysAgo(days)));
    messages
      .prepare(`INSERT INTO attachments (chat_id, message_id, position, file_name) VALUES (?, 'm0', 0, 'f')`)
      .run(CHAT);
    expect(removed(prune())).toEqual({});
    expect(removed(prune({ messagesDays: 365 }))).toEqual({ 'chat history': [2, 2] });
    expect(messages.prepare('SELECT count(*) FROM attachments').pluck().get()).toBe(0);
    expect(messages.prepare('SELECT id FROM messages').pluck().all()).toEqual(['m2']);
  });

  it('only counts in a dry run', () => {
    addRun(365);
    addInbound('done', 365);
    const before = state.pragma('data_version');
    expect(removed(prune({}, true))).toEqual({ runs: [1, 0], 'ids of settled messages': [1, 0] });
    expect(state.pragma('data_version')).toEqual(before);
    expect(count('invocations')).toBe(1);
  });

  it('keeps everything where every period is null', () => {
    addRun(3650);
    addReply('sent', 3650);
    addInbound('dead', 3650);
    const none = { runsDays: null, spendDays: null, repliesDays: null, deadDays: null, messageIdsDays: null };
    expect(removed(prune(none))).toEqual({});
  });

  it('in its thread it keeps nobody waiting for long who writes meanwhile', async () => {
    state.transaction(() => {
      for (let at = 0; at < 8000; at += 1) addRun(365);
    })();
    const workerFile = join(packageRoot(), 'dist', 'retention-worker.mjs');
    const files = { state: home.stateDatabase, messages: home.messageDatabase };
    const job = { ...files, policy: RetentionConfig.parse({}), nowMs: NOW, dryRun: false };
    const stores = openStores(home, () => NOW, LOOP_BUSY_TIMEOUT_MS);
    const over = { yet: false };
    const pruning = pruneRowsInThread(workerFile, job).finally(() => {
      over.yet = true;
    });
    let longestMs = 0;
    let writes = 0;
    while (!over.yet) {
      const from = performance.now();
      await stores.whenFree(() => stores.outbox.add({ invocation: null, chat: GroupId.parse(CHAT), text: 'x' }));
      longestMs = Math.max(longestMs, performance.now() - from);
      writes += 1;
      await delay(5);
    }
    stores.close();
    expect(removed(await pruning)).toEqual({ runs: [8000, 8000] });
    expect(writes).toBeGreaterThan(5);
    expect(longestMs).toBeLessThan(2_000);
  });
});
