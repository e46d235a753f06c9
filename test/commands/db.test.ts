import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openApp } from '../../src/app.ts';
import { GroupId, InvocationId } from '../../src/domain/ids.ts';
import type { InboundMessage } from '../../src/domain/message.ts';
import { AppError } from '../../src/errors.ts';
import type { Home } from '../../src/home.ts';
import { acquireLock } from '../../src/store/lock.ts';
import { openStores, type Stores } from '../../src/store/stores.ts';
import { openFile } from '../store/fixture.ts';
import { run, temporaryHome } from './home-fixture.ts';

const LOBBY = GroupId.parse('local:lobby');
const TURN = InvocationId.parse('01HZZZZZZZZZZZZZZZZZZZ0001');

const inStores = <T>(home: Home, work: (stores: Stores) => T): T => {
  const stores = openStores(home, Date.now);
  try {
    return work(stores);
  } finally {
    stores.close();
  }
};

const message = (id: string, text = `text of ${id}`): InboundMessage => ({
  ...{ chat: LOBBY, id, senderId: '7', senderName: 'Ada', text },
  ...{ at: new Date().toISOString(), threadId: null, replyToId: null },
});

/** As the supervisor takes it in. */
const receive = ({ inbound, messages }: Stores, one: InboundMessage): void => {
  inbound.accept({ message: one, group: LOBBY, session: 'default', backlog: 1000 });
  messages.saveInbound(one);
};

const answer = ({ inbound, messages, outbox }: Stores, text: string): void => {
  inbound.take({ group: LOBBY, session: 'default', invocation: TURN, max: 10 });
  inbound.settle({ invocation: TURN, untouched: [], outcome: { kind: 'done' } });
  const id = outbox.add({ invocation: TURN, chat: LOBBY, text });
  messages.saveOutgoing({ chat: LOBBY, text, id, at: new Date().toISOString() });
  outbox.markSent(id);
};

/** A made home with one answered and one waiting message, and then a backup. */
const homeWithBackup = async (): Promise<Home> => {
  const home = await temporaryHome();
  await run(home, ['init']);
  inStores(home, (stores) => {
    receive(stores, message('before'));
    answer(stores, 'answered before');
    receive(stores, message('waiting'));
  });
  await run(home, ['db', 'backup']);
  return home;
};

const hash = (file: string): string => createHash('sha256').update(readFileSync(file)).digest('hex');

const start = async (home: Home): Promise<unknown> => {
  const app = await openApp({
    homeDir: home.dir,
    environment: { home: undefined, dockerHost: undefined, logLevel: 'silent' },
  });
  await app.close();
  return null;
};

const errorOf = async (act: () => Promise<unknown>): Promise<AppError> => {
  const thrown = await act().catch((error: unknown) => error);
  if (thrown instanceof AppError) return thrown;
  throw new Error(`not an AppError: ${String(thrown)}`);
};

const asNewer = (file: string): void => {
  openFile(file).exec(`INSERT INTO migrations VALUES ('9999-future', '2027-01-01T00:00:00.000Z')`);
  openFile(file).pragma('wal_checkpoint(TRUNCATE)');
};

const asForeign = (file: string): void => {
  for (const suffix of ['', '-wal', '-shm']) rmSync(`${file}${suffix}`, { force: true });
  openFile(file).exec('CREATE TABLE something (x)');
};

type Damage = readonly [what: string, damage: (file: string) => void, code: string, found: string];

const DAMAGES: readonly Damage[] = [
  ['of a newer version', asNewer, 'conflict', '9999-future'],
  ['of another program', asForeign, 'config', 'some other program'],
  ['cut to a half', (file) => truncateSync(file, 20_000), 'config', 'cut short'],
  ['cut by its last byte', (file) => truncateSync(file, readFileSync(file).length - 1), 'config', 'cut short'],
  ['cut to a few bytes', (file) => truncateSync(file, 10), 'config', 'begins otherwise'],
  ['cut to nothing', (file) => truncateSync(file, 0), 'config', 'empty'],
  ['overwritten', (file) => writeFileSync(file, 'x'.repeat(9000)), 'config', 'begins otherwise'],
];

describe.each([
  ['state', 'stateDatabase'],
  ['messages', 'messageDatabase'],
] as const)('a %s database', (name, key) => {
  describe.each(DAMAGES)('%s', (_what, damage, code, found) => {
    const setUp = async (): Promise<{ home: Home; file: string }> => {
      const home = await homeWithBackup();
      damage(home[key]);
      return { home, file: home[key] };
    };

    it.each([
      ['by a supervisor', start],
      ['by a command', (home: Home) => run(home, ['groups', 'list'])],
    ])('is refused %s, with the command to run, and left as it is', async (_by, act) => {
      const { home, file } = await setUp();
      const before = hash(file);
      const error = await errorOf(() => act(home));
      expect(error).toMatchObject({ code, message: expect.stringContaining(found) });
      expect(error.message).toContain(file);
      expect(error.hint).toContain(`tierclaw db restore ${name}`);
      expect(hash(file)).toBe(before);
    });

    it('is restored with the operator’s word alone, and the old file kept', async () => {
      const { home, file } = await setUp();
      const before = hash(file);
      const shown = await run(home, ['db', 'restore', name]);
      expect(shown.status).toBe(6);
      expect(shown.text).toContain(`tierclaw db restore ${name} --yes`);
      expect(hash(file)).toBe(before);
      const done = await run(home, ['db', 'restore', name, '--yes']);
      expect(done.status).toBe(0);
      const aside = readdirSync(dirname(file)).filter((entry) => /\.damaged-\d{8}T\d{9}Z$/.test(entry));
      expect(aside.map((entry) => hash(join(dirname(file), entry)))).toEqual([before]);
      expect((await run(home, ['db', 'check'])).status).toBe(0);
      expect((await run(home, ['groups', 'list'])).text).toContain('lobby');
      await start(home);
    });
  });
});

describe('a database that is gone although there are backups of it', () => {
  it('is not made anew', async () => {
    const home = await homeWithBackup();
    rmSync(home.messageDatabase);
    const error = await errorOf(() => start(home));
    expect(error).toMatchObject({ code: 'config', hint: expect.stringContaining('tierclaw db restore messages') });
    expect(existsSync(home.messageDatabase)).toBe(false);
    const { text } = await run(home, ['db', 'restore', 'messages', '--yes']);
    expect(text).toContain('there was no file to keep');
    await start(home);
  });
});

describe('a database that a crash left with commits beside a cut file', () => {
  it('is refused, and neither is touched', async () => {
    const home = await homeWithBackup();
    const other = openFile(home.stateDatabase);
    other.exec(`UPDATE inbound SET error = 'x'`);
    const wal = readFileSync(`${home.stateDatabase}-wal`);
    const main = readFileSync(home.stateDatabase);
    other.close();
    writeFileSync(home.stateDatabase, main.subarray(0, 20_000));
    writeFileSync(`${home.stateDatabase}-wal`, wal);
    expect((await errorOf(() => start(home))).hint).toContain('tierclaw db restore state');
    expect(readFileSync(home.stateDatabase).equals(main.subarray(0, 20_000))).toBe(true);
    expect(readFileSync(`${home.stateDatabase}-wal`).equals(wal)).toBe(true);
    await run(home, ['db', 'restore', 'state', '--yes']);
    expect(existsSync(`${home.stateDatabase}-wal`)).toBe(false);
    expect((await run(home, ['db', 'check'])).status).toBe(0);
  });
});

describe('a restored queue', () => {
  it('answers nothing by itself and loses nothing: what may be open is a dead letter', async () => {
    const home = await homeWithBackup();
    inStores(home, (stores) => {
      answer(stores, 'answered after the backup');
      receive(stores, message('late'));
      stores.outbox.add({ invocation: TURN, chat: LOBBY, text: 'not sent yet' });
    });
    truncateSync(home.stateDatabase, 20_000);
    const { text } = await run(home, ['db', 'restore', 'state', '--yes']);
    expect(text).toContain('2 dead letters');
    inStores(home, ({ inbound, deadMessages, groups }) => {
      expect(inbound.waiting()).toEqual([]);
      expect(deadMessages.list().map((one) => [one.message.id, one.message.text])).toEqual([
        ['waiting', 'text of waiting'],
        ['late', 'text of late'],
      ]);
      expect(deadMessages.list()[0]?.error).toContain('may have been answered');
      expect(groups.list()).toHaveLength(3);
      const again = { message: message('late'), group: LOBBY, session: 'default' as const, backlog: 10 };
      expect(inbound.accept(again)).toBe('duplicate');
    });
  });

  it('is on record', async () => {
    const home = await homeWithBackup();
    await run(home, ['db', 'restore', 'state', '--yes']);
    expect(readFileSync(home.auditFile, 'utf8')).toContain('"kind":"database-restore"');
  });
});

describe('a restored history', () => {
  it('has what came and went since, in its order', async () => {
    const home = await homeWithBackup();
    inStores(home, (stores) => {
      receive(stores, message('late'));
      answer(stores, 'answered late');
    });
    rmSync(`${home.messageDatabase}-wal`, { force: true });
    truncateSync(home.messageDatabase, 5000);
    const { text } = await run(home, ['db', 'restore', 'messages', '--yes']);
    expect(text).toContain('2 messages put back');
    const history = inStores(home, ({ messages }) => messages.recent(LOBBY, 10).map((one) => one.text));
    expect(history).toEqual(['text of before', 'answered before', 'text of waiting', 'text of late', 'answered late']);
  });
});

describe('db restore', () => {
  it('is refused while a supervisor holds the home', async () => {
    const home = await homeWithBackup();
    const before = hash(home.stateDatabase);
    const lock = acquireLock(home.lockFile);
    try {
      const error = await errorOf(() => run(home, ['db', 'restore', 'state', '--yes']));
      expect(error).toMatchObject({ code: 'conflict', message: expect.stringContaining(`pid ${process.pid}`) });
    } finally {
      lock.release();
    }
    expect(hash(home.stateDatabase)).toBe(before);
  });

  it('says how many rows there are now and were then', async () => {
    const home = await homeWithBackup();
    inStores(home, (stores) => receive(stores, message('late')));
    const { text } = await run(home, ['db', 'restore', 'state']);
    expect(text).toMatch(/inbound +3 +2/);
  });

  it('takes the newest backup that can be used, and names those that can’t', async () => {
    const home = await homeWithBackup();
    const bad = join(home.backups, 'state-29990101T000000000Z-regular.db');
    writeFileSync(bad, 'x'.repeat(5000));
    const { text } = await run(home, ['db', 'restore', 'state']);
    expect(text).toContain(bad);
    expect(text).toMatch(/by +\S*state-2\d+T\d+Z-regular\.db +of/);
    const list = await run(home, ['db', 'list']);
    expect(list.text).toMatch(/state +2999-01-01T00:00:00.000Z +regular.*damaged/);
  });

  it.each([
    [
      'another database’s',
      (home: Home) => readdirSync(home.backups).find((name) => name.startsWith('messages')),
      'config',
    ],
    ['one that isn’t there', () => 'nothing.db', 'not-found'],
  ])('refuses %s backup', async (_which, choose, code) => {
    const home = await homeWithBackup();
    const error = await errorOf(() => run(home, ['db', 'restore', 'state', '--backup', choose(home) ?? '', '--yes']));
    expect(error.code).toBe(code);
    expect((await run(home, ['db', 'check'])).status).toBe(0);
  });

  it('takes a backup from elsewhere', async () => {
    const home = await homeWithBackup();
    const [own = ''] = readdirSync(home.backups).filter((name) => name.startsWith('state'));
    const moved = join(home.dir, `my copy of ${basename(own)}`);
    renameSync(join(home.backups, own), moved);
    const { text } = await run(home, ['db', 'restore', 'state', '--backup', moved, '--yes']);
    expect(text).toContain('restored');
    await start(home);
  });

  it('says so where there is no backup, and which databases there are', async () => {
    const home = await temporaryHome();
    await run(home, ['init']);
    expect(await errorOf(() => run(home, ['db', 'restore', 'state']))).toMatchObject({ code: 'not-found' });
    expect(await errorOf(() => run(home, ['db', 'restore', 'other']))).toMatchObject({ code: 'usage' });
    expect((await run(home, ['db', 'list'])).text).toContain('tierclaw db backup');
  });
});

describe('db check', () => {
  it('has a status of its own for a damaged database', async () => {
    const home = await homeWithBackup();
    truncateSync(home.messageDatabase, 5000);
    const { text, status } = await run(home, ['db', 'check']);
    expect(status).toBe(3);
    expect(text).toMatch(/state +whole/);
    expect(text).toMatch(/messages +damaged/);
    expect(text).toContain('next: tierclaw db restore messages');
  });
});
