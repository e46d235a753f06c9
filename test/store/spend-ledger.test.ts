/** Spending is written behind the requests' backs: what a crash can lose, and what a database in trouble stops. */
import { cpSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Amount } from '../../src/domain/prices.ts';
import { type Home, homeAt } from '../../src/home.ts';
import { LOOP_BUSY_TIMEOUT_MS } from '../../src/store/patience.ts';
import type { SpendCaps } from '../../src/store/spend.ts';
import { createSpendLedger } from '../../src/store/spend-ledger.ts';
import { openStores } from '../../src/store/stores.ts';
import { freshDirectory, LOBBY } from './fixture.ts';

const CAPS: SpendCaps = { requestsPerMinute: 1000, tokensPerDay: 1000, usdPerDay: null };
const tokens = (inputTokens: number): Amount => ({ inputTokens, outputTokens: 0, nanoUsd: 0 });

const fresh = () => {
  const home = homeAt(freshDirectory());
  const stores = openStores(home, Date.now, LOOP_BUSY_TIMEOUT_MS);
  onTestFinished(() => stores.close());
  const errors: unknown[] = [];
  const ledger = createSpendLedger({ ...stores, onError: (thrown) => errors.push(thrown) });
  onTestFinished(() => ledger.close());
  return {
    home,
    stores,
    ledger,
    errors,
    ask: (amount = tokens(100)) => ledger.reserve({ group: LOBBY, caps: CAPS, amount }),
  };
};

/** What another process reads. */
const inDatabase = (home: Home): number | undefined => {
  const database = new Database(home.stateDatabase, { readonly: true });
  try {
    const sum = database.prepare('SELECT sum(input_tokens) FROM spend_days').pluck().get();
    return typeof sum === 'number' ? sum : undefined;
  } finally {
    database.close();
  }
};

/** What a start finds after the process was killed at this very moment: the files as they are. */
const killedNow = (home: Home) => {
  const directory = freshDirectory();
  cpSync(home.dir, directory, { recursive: true });
  const stores = openStores(homeAt(directory), Date.now);
  onTestFinished(() => stores.close());
  return stores.spend;
};

/** Another process that writes, until the test lets go of it. */
const lock = (home: Home) => {
  const holder = new Database(home.stateDatabase);
  holder.exec('BEGIN IMMEDIATE');
  const release = (): void => void (holder.open && holder.close());
  onTestFinished(release);
  return { release };
};

/** No row can be added any more, as on a full disk. */
const fill = (home: Home) => {
  const database = new Database(home.stateDatabase);
  database.exec(`CREATE TRIGGER full BEFORE INSERT ON spend_days BEGIN SELECT RAISE(ABORT, 'disk is full'); END`);
  return { empty: () => void database.exec('DROP TRIGGER full').close() };
};

const eventually = <T>(read: () => T) => expect.poll(read, { timeout: 5000, interval: 10 });

describe('a reservation', () => {
  it('is compared at once and written a moment later', async () => {
    const { home, ask } = fresh();
    for (let made = 0; made < 10; made += 1) expect(ask().ok).toBe(true);
    expect(ask()).toMatchObject({ ok: false, over: 'tokensPerDay', used: tokens(1000) });
    expect(inDatabase(home)).toBeUndefined();
    await eventually(() => inDatabase(home)).toBe(1000);
  });

  it('that a crash finds unwritten is lost, and none that is older', async () => {
    const { home, ask } = fresh();
    ask(tokens(700));
    await eventually(() => inDatabase(home)).toBe(700);
    ask(tokens(300));
    const again = killedNow(home);
    expect(again.reserve({ group: LOBBY, caps: CAPS, amount: tokens(301) })).toMatchObject({ used: tokens(700) });
    expect(again.reserve({ group: LOBBY, caps: CAPS, amount: tokens(300) })).toMatchObject({ ok: true });
    await eventually(() => inDatabase(home)).toBe(1000);
    expect(killedNow(home).reserve({ group: LOBBY, caps: CAPS, amount: tokens(1) })).toMatchObject({ ok: false });
  });

  it('and its settlement are written by an orderly end, however soon it comes', () => {
    const { home, ledger, ask } = fresh();
    const answer = ask();
    if (answer.ok) ledger.settle({ group: LOBBY, day: answer.day, reserved: tokens(100), used: tokens(40) });
    ledger.close();
    expect(inDatabase(home)).toBe(40);
  });
});

describe('a database that another process has locked', () => {
  it('stops requests until what was counted is written, and forgets none of it', async () => {
    const { home, ledger, errors, ask } = fresh();
    const holder = lock(home);
    const answer = ask();
    // In the dark about the lock for a few milliseconds; then it shows.
    await eventually(() => {
      try {
        return ask().ok;
      } catch (thrown) {
        return thrown;
      }
    }).toMatchObject({ code: 'conflict', message: expect.stringContaining('can’t be written down') });
    if (answer.ok) ledger.settle({ group: LOBBY, day: answer.day, reserved: tokens(100), used: tokens(40) });
    expect(inDatabase(home)).toBeUndefined();
    holder.release();
    await eventually(() => inDatabase(home)).toBeGreaterThanOrEqual(40);
    expect(ask(tokens(0)).ok).toBe(true);
    expect(errors).toEqual([]);
  });
});

describe('a database that takes nothing more', () => {
  it('stops requests, is told of, tried again, and then has everything', async () => {
    const { home, errors, ask } = fresh();
    const disk = fill(home);
    ask(tokens(600));
    await eventually(() => errors.length).toBe(1);
    expect(() => ask(tokens(1))).toThrow('can’t be written down');
    await eventually(() => errors.length).toBe(2);
    expect(() => ask(tokens(1))).toThrow('can’t be written down');
    disk.empty();
    await eventually(() => inDatabase(home)).toBe(600);
    await delay(0);
    expect(ask(tokens(401))).toMatchObject({ ok: false, used: tokens(600) });
    expect(ask(tokens(400)).ok).toBe(true);
  });

  it('lets the end of the process be told of what is lost', () => {
    const { home, ledger, ask } = fresh();
    const disk = fill(home);
    ask();
    expect(() => ledger.close()).toThrow('disk is full');
    disk.empty();
  });
});
