import { existsSync, mkdirSync, readdirSync, statSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { packageRoot } from '../../src/package-root.ts';
import { BACKUPS_KEPT, backupName, isDue, listBackups, makeBackup } from '../../src/store/backup.ts';
import { createBackupRounds } from '../../src/store/backup-rounds.ts';
import { inspectDatabase } from '../../src/store/inspect.ts';
import { freshStores, message, openFile } from './fixture.ts';

const HOUR_MS = 3_600_000;
const WORKER = join(packageRoot(), 'dist', 'backup-worker.mjs');

const setUp = () => {
  const opened = freshStores();
  const { home, clock } = opened;
  const backUp = (): string =>
    makeBackup({ database: 'messages', source: home.messageDatabase, directory: home.backups, now: clock.ms });
  return { ...opened, backUp };
};

describe('a backup', () => {
  it('is a private, whole copy of what was committed, also beside an open transaction', () => {
    const { stores, home, backUp } = setUp();
    stores.messages.saveInbound(message('1'));
    const other = openFile(home.messageDatabase);
    other.exec(`BEGIN IMMEDIATE; DELETE FROM messages`);
    const file = backUp();
    expect(file).toBe(join(home.backups, 'messages-20260102T030405000Z-regular.db'));
    expect((statSync(file).mode & 0o777).toString(8)).toBe('600');
    expect(inspectDatabase('messages', file).kind).toBe('whole');
    expect(openFile(file, { readonly: true }).prepare('SELECT id FROM messages').pluck().all()).toEqual(['1']);
  });

  it('takes the place of the oldest of its kind and of no other', () => {
    const { home, clock, backUp } = setUp();
    mkdirSync(home.backups, { recursive: true });
    const others = [backupName('messages', 0, '0001-start'), backupName('state', 0, 'regular'), 'notes.txt'];
    for (const name of others) writeFileSync(join(home.backups, name), 'x');
    const made = Array.from({ length: BACKUPS_KEPT + 2 }, () => {
      clock.ms += HOUR_MS;
      return backUp();
    });
    const left = readdirSync(home.backups).map((name) => join(home.backups, name));
    expect(left.sort()).toEqual([...made.slice(2), ...others.map((name) => join(home.backups, name))].sort());
  });

  it('of a damaged database is not made, and takes nothing away', () => {
    const { home, stores, clock, backUp } = setUp();
    for (let each = 0; each < 200; each += 1)
      stores.messages.saveInbound(message(`${each}`, { text: 'x'.repeat(500) }));
    stores.close();
    const before = Array.from({ length: BACKUPS_KEPT }, () => {
      clock.ms += HOUR_MS;
      return backUp();
    });
    truncateSync(home.messageDatabase, 40_000);
    clock.ms += HOUR_MS;
    expect(backUp).toThrow(expect.objectContaining({ code: 'config', hint: 'tierclaw db check' }));
    expect(
      readdirSync(home.backups)
        .map((name) => join(home.backups, name))
        .sort(),
    ).toEqual(before);
  });

  it('that was cut off leaves nothing for good', () => {
    const { home, backUp } = setUp();
    mkdirSync(home.backups, { recursive: true });
    const old = join(home.backups, 'messages-20250102T030405000Z-regular.db.tmp');
    const young = join(home.backups, 'messages-20250102T030406000Z-regular.db.tmp');
    for (const file of [old, young]) writeFileSync(file, 'x');
    utimesSync(old, 0, 0);
    backUp();
    expect([existsSync(old), existsSync(young)]).toEqual([false, true]);
  });
});

describe('regular backups', () => {
  const at = (atMs: number, why = 'regular') => ({ file: '', database: 'state' as const, atMs, why, bytes: 0 });

  it.each([
    ['there is none', [], true],
    ['there is a young one', [at(9 * HOUR_MS)], false],
    ['the newest is old', [at(8 * HOUR_MS), at(7 * HOUR_MS)], true],
    ['the newest is from before a migration', [at(10 * HOUR_MS, '0001-start'), at(7 * HOUR_MS)], true],
    ['the clock was set back by a day', [at(34 * HOUR_MS)], true],
  ])('are due or not when %s', (_when, backups, due) => {
    expect(isDue(backups, 'state', { now: 10 * HOUR_MS, ms: 2 * HOUR_MS })).toBe(due);
  });

  it('are made by a thread at start and then daily, and not by every start', async () => {
    const { home, clock } = setUp();
    const made = () => listBackups(home.backups).map(({ database, atMs }) => [database, atMs - clock.ms]);
    const start = () => createBackupRounds({ home, workerFile: WORKER, clock: clock.read });
    const round = start();
    await round();
    expect(made().sort()).toEqual([
      ['messages', 0],
      ['state', 0],
    ]);
    clock.ms += HOUR_MS / 2;
    await start()();
    await round();
    expect(made()).toHaveLength(2);
    clock.ms += 23 * HOUR_MS;
    await round();
    expect(made()).toHaveLength(2);
    clock.ms += HOUR_MS;
    await round();
    expect(made()).toHaveLength(4);
  });

  it('of one database are made although the other is damaged, and the damage is said', async () => {
    const { home, clock, stores } = setUp();
    stores.close();
    writeFileSync(home.stateDatabase, 'x'.repeat(5000));
    const round = createBackupRounds({ home, workerFile: WORKER, clock: clock.read });
    await expect(round()).rejects.toThrow(home.stateDatabase);
    expect(listBackups(home.backups).map(({ database }) => database)).toEqual(['messages']);
  });
});
