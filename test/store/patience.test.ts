import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { AppError } from '../../src/errors.ts';
import { createPatience, LOOP_BUSY_TIMEOUT_MS } from '../../src/store/patience.ts';
import { freshStores, openFile } from './fixture.ts';

/** A database with one table, a connection that waits as the supervisor's does, and another one that locks it. */
const setUp = () => {
  const { home, stores } = freshStores();
  stores.close();
  const own = openFile(home.stateDatabase, { timeout: LOOP_BUSY_TIMEOUT_MS });
  own.exec('CREATE TABLE t (x INTEGER)');
  const other = openFile(home.stateDatabase);
  const insert = own.prepare('INSERT INTO t VALUES (?)');
  const rows = (): unknown[] => own.prepare('SELECT x FROM t ORDER BY rowid').pluck().all();
  return { other, rows, put: (x: number) => () => insert.run(x).changes };
};

describe('work on a database', () => {
  it('is done at once where nothing is in its way', async () => {
    const { put, rows } = setUp();
    const done = createPatience()(put(1));
    expect(rows()).toEqual([1]);
    expect(await done).toBe(1);
  });

  it('waits for the other process, in the order of asking, and is done once', async () => {
    const { other, put, rows } = setUp();
    const whenFree = createPatience();
    other.exec('BEGIN IMMEDIATE');
    const all = [1, 2, 3].map((x) => whenFree(put(x)));
    expect(rows()).toEqual([]);
    other.exec('COMMIT');
    // The lock is free, but those who asked earlier come first.
    const last = whenFree(put(4));
    expect(await Promise.all([...all, last])).toEqual([1, 1, 1, 1]);
    expect(rows()).toEqual([1, 2, 3, 4]);
  });

  it('is refused where the lock stays, without having been done', async () => {
    const { other, put, rows } = setUp();
    const whenFree = createPatience(100);
    other.exec('BEGIN IMMEDIATE');
    const refused = await Promise.allSettled([whenFree(put(1)), whenFree(put(2))]);
    for (const one of refused) {
      expect(one).toMatchObject({ status: 'rejected', reason: { code: 'conflict' } });
      expect((one as PromiseRejectedResult).reason).toBeInstanceOf(AppError);
    }
    other.exec('COMMIT');
    expect(await whenFree(put(3))).toBe(1);
    expect(rows()).toEqual([3]);
  });

  it('that fails for another reason is not tried again', async () => {
    const { other, put } = setUp();
    const whenFree = createPatience();
    let tries = 0;
    const broken = () => {
      tries += 1;
      throw new Database.SqliteError('no room', 'SQLITE_FULL');
    };
    await expect(whenFree(broken)).rejects.toThrow('no room');
    other.exec('BEGIN IMMEDIATE');
    const before = whenFree(put(1));
    const queued = whenFree(broken);
    other.exec('COMMIT');
    await expect(queued).rejects.toThrow('no room');
    expect(await before).toBe(1);
    expect(tries).toBe(2);
  });
});
