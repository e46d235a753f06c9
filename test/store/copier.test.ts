import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { GroupId } from '../../src/domain/ids.ts';
import { packageRoot } from '../../src/package-root.ts';
import { type Copier, createCopier } from '../../src/store/copier.ts';
import { CELLAR, freshDirectory, freshStores, LOBBY, message, openFile } from './fixture.ts';

let bundles = '';
let workerFile = '';

beforeAll(async () => {
  // Inside the package, so that the bundle finds better-sqlite3.
  const cache = join(packageRoot(), 'node_modules', '.cache');
  mkdirSync(cache, { recursive: true });
  bundles = mkdtempSync(join(cache, 'copy-worker-'));
  workerFile = join(bundles, 'copy-worker.mjs');
  const entryPoints = [join(packageRoot(), 'src', 'store', 'copy-worker.ts')];
  await build({
    entryPoints,
    outfile: workerFile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
  });
});

afterAll(() => rmSync(bundles, { recursive: true, force: true }));

const copying = (change: { workerFile?: string; publishEveryMs?: number } = {}) => {
  const open = freshStores();
  const copier: Copier = createCopier({
    workerFile,
    home: open.home,
    windowMessages: 100_000,
    publishEveryMs: 0,
    clock: open.clock.read,
    ...change,
  });
  onTestFinished(() => copier.close());
  return { ...open, copier, turns: freshDirectory() };
};

const idsIn = (file: string): unknown[] =>
  openFile(file, { readonly: true }).prepare('SELECT id FROM messages ORDER BY chat_id, seq').pluck().all();

describe('the copier', () => {
  it('makes filtered copies and links published ones', async () => {
    const { copier, stores, turns } = copying();
    stores.messages.saveInbound(message('mine'));
    stores.messages.saveInbound(message('theirs', { chat: CELLAR }));
    await Promise.all([
      copier.filtered(LOBBY, join(turns, 'lobby.db')),
      copier.filtered(CELLAR, join(turns, 'cellar.db')),
      copier.linkPublished(join(turns, 'all.db')),
    ]);
    expect(idsIn(join(turns, 'lobby.db'))).toEqual(['mine']);
    expect(idsIn(join(turns, 'cellar.db'))).toEqual(['theirs']);
    expect(idsIn(join(turns, 'all.db'))).toEqual(['theirs', 'mine']);
  });

  it('copies a chat whose id has quotes', async () => {
    const { copier, stores, turns } = copying();
    const odd = GroupId.parse(`local:it's"--;`);
    stores.messages.saveInbound(message('mine', { chat: odd }));
    stores.messages.saveInbound(message('theirs'));
    await copier.filtered(odd, join(turns, 'odd.db'));
    expect(idsIn(join(turns, 'odd.db'))).toEqual(['mine']);
  });

  it('passes the wish for a message that came just now on', async () => {
    const { clock, copier, stores, turns } = copying({ publishEveryMs: 60_000 });
    await copier.linkPublished(join(turns, '1.db'));
    clock.ms += 1;
    stores.messages.saveInbound(message('a'));
    await copier.linkPublished(join(turns, '2.db'));
    expect(idsIn(join(turns, '2.db'))).toEqual([]);
    await copier.linkPublished(join(turns, '3.db'), { notBefore: clock.ms });
    expect(idsIn(join(turns, '3.db'))).toEqual(['a']);
  });

  it('tells a failed copy as an error and goes on', async () => {
    const { copier, turns } = copying();
    await expect(copier.filtered(LOBBY, join(turns, 'no', 'such', 'directory.db'))).rejects.toThrow(
      expect.objectContaining({ name: 'AppError', message: expect.stringContaining('ENOENT') }),
    );
    await copier.filtered(LOBBY, join(turns, 'lobby.db'));
    expect(idsIn(join(turns, 'lobby.db'))).toEqual([]);
  });

  it('rejects what a dying thread had, and starts a new one for the next call', async () => {
    const file = join(bundles, 'dies-once.mjs');
    writeFileSync(
      file,
      `import { existsSync, writeFileSync } from 'node:fs';
       import { parentPort, workerData } from 'node:worker_threads';
       const mark = workerData.source + '.died';
       if (existsSync(mark)) await import('./copy-worker.mjs');
       else parentPort.on('message', () => { writeFileSync(mark, ''); process.exit(9); });`,
    );
    const { copier, turns } = copying({ workerFile: file });
    const calls = ['1', '2'].map((name) => copier.linkPublished(join(turns, name)));
    for (const outcome of await Promise.allSettled(calls)) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: { name: 'AppError', code: 'internal' } });
    }
    await copier.linkPublished(join(turns, '3'));
    expect(readdirSync(turns)).toEqual(['3']);
  });

  it('rejects where there is no thread to be had', async () => {
    const { copier, turns } = copying({ workerFile: join(freshDirectory(), 'missing.mjs') });
    await expect(copier.linkPublished(join(turns, 'x'))).rejects.toMatchObject({ name: 'AppError', code: 'internal' });
    await copier.close();
  });

  it('finishes what was asked for when it closes, then refuses', async () => {
    const { copier, stores, turns } = copying();
    stores.messages.saveInbound(message('a'));
    const asked = copier.filtered(LOBBY, join(turns, 'lobby.db'));
    await Promise.all([copier.close(), copier.close()]);
    await asked;
    expect(idsIn(join(turns, 'lobby.db'))).toEqual(['a']);
    await expect(copier.filtered(LOBBY, join(turns, 'late.db'))).rejects.toMatchObject({ name: 'AppError' });
  });

  it('needs no thread to close', async () => {
    await copying().copier.close();
  });

  it('never gets into the way of a writer at full speed, and its copies are sound', async () => {
    const { clock, copier, home, stores, turns } = copying();
    const writer = openFile(home.messageDatabase, { timeout: 0 });
    stores.messages.saveInbound(message('first'));
    const insert = writer.prepare(
      `INSERT INTO messages (chat_id, seq, id, content, sent_at)
       SELECT chat_id, max(seq) + 1, 'w' || (max(seq) + 1), ?, '' FROM messages WHERE chat_id = ?`,
    );
    const count = writer.prepare('UPDATE chats SET name = (SELECT max(seq) FROM messages WHERE chat_id = ?)');
    const write = writer.transaction(() => {
      insert.run('x'.repeat(500), LOBBY);
      count.run(LOBBY);
    });
    const progress = { copies: 0 };
    const copies = (async () => {
      for (; progress.copies < 6; progress.copies += 1) {
        clock.ms += 1;
        await copier.linkPublished(join(turns, `all-${progress.copies}.db`));
        await copier.filtered(LOBBY, join(turns, `lobby-${progress.copies}.db`));
      }
    })();
    let written = 0;
    while (progress.copies < 6) {
      // With no patience at all, any lock that a copy held would be an error here.
      for (let burst = 0; burst < 20; burst += 1) write.immediate();
      written += 20;
      await setImmediate();
    }
    await copies;
    expect(stores.messages.count(LOBBY)).toBe(written + 1);
    for (const name of readdirSync(turns)) {
      const copy = openFile(join(turns, name), { readonly: true });
      expect(copy.pragma('integrity_check', { simple: true })).toBe('ok');
      // One snapshot: no gap within a table, and tables as one transaction left them.
      const consistent = copy.prepare('SELECT count(*) = max(seq) AND max(seq) = name FROM messages, chats');
      expect(consistent.pluck().get()).toBe(1);
    }
  }, 60_000);
});
