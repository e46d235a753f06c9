/** `tierclaw audit` on a real home: what it lists, what it finds, how one goes on behind a break. */
import { appendFileSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { pino } from 'pino';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openAudit } from '../../src/audit.ts';
import { putOnRecord } from '../../src/commands/on-record.ts';
import { GroupId } from '../../src/domain/ids.ts';
import type { Home } from '../../src/home.ts';
import { startControl } from '../../src/ops/control.ts';
import type { ControlledSupervisor } from '../../src/ops/control-protocol.ts';
import { acquireLock } from '../../src/store/lock.ts';
import { openStores } from '../../src/store/stores.ts';
import { run, temporaryHome } from './home-fixture.ts';

const madeHome = async (): Promise<Home> => {
  const home = await temporaryHome();
  await run(home, ['init']);
  return home;
};

const DAY_MS = 86_400_000;

const record = (home: Home, count: number, at = Date.now()): void => {
  const audit = openAudit(home.auditFile, () => at);
  for (let n = 1; n <= count; n += 1) {
    audit.record({ kind: 'egress', group: n % 2 === 0 ? 'local:lobby' : 'local:main', host: `h${n}.example` });
  }
  audit.record({ kind: 'ipc-link', group: 'local:lobby', detail: 'a\u001b[2Jb' });
  audit.close();
};

const linesOf = (home: Home) => readFileSync(home.auditFile, 'utf8').split('\n').slice(0, -1);
const put = (home: Home, lines: readonly string[]) =>
  writeFileSync(home.auditFile, lines.map((line) => `${line}\n`).join(''));
const kinds = (data: unknown) => (data as { kind: string }[]).map(({ kind }) => kind);

describe('audit list', () => {
  test('shows the last events, oldest first, harmless to look at', async () => {
    const home = await madeHome();
    record(home, 60);
    const { text, data } = await run(home, ['audit', 'list', '--last', '3']);
    expect(kinds(data)).toEqual(['egress', 'egress', 'ipc-link']);
    expect(text).toMatch(/^64 +\S+Z +ipc-link +local:lobby +– +detail=ab$/m);
  });

  test.each([
    [['--group', 'lobby'], 32],
    [['--group', 'local:lobby', '--kind', 'egress'], 30],
    [['--kind', 'ipc-'], 1],
    [['--kind', 'group-registered'], 3],
    [['--since', '1h'], 3],
    [['--since', '3d'], 64],
    [['--since', new Date(Date.now() - DAY_MS / 2).toISOString()], 3],
  ])('chooses by %j', async (words, count) => {
    const home = await madeHome();
    const registrations = readFileSync(home.auditFile);
    record(home, 60, Date.now() - DAY_MS);
    expect(registrations.length).toBeGreaterThan(0);
    const { data } = await run(home, ['audit', 'list', '--last', '1000', ...words]);
    expect(data).toHaveLength(count);
  });

  test.each([
    [['--since', 'yesterday'], /--since "yesterday"/],
    [['--kind', 'ipc_link'], /no kind of event begins with "ipc_link"; there are: .*ipc-link/],
  ])('refuses %j', async (words, expected) => {
    const home = await madeHome();
    await expect(run(home, ['audit', 'list', ...words])).rejects.toThrow(expected);
  });

  test('shows lines from before there was a chain, too', async () => {
    const home = await madeHome();
    rmSync(home.auditFile);
    rmSync(`${home.data}/audit`, { recursive: true });
    writeFileSync(home.auditFile, '{"at":"2025-01-01T00:00:00.000Z","kind":"request-refused","group":"local:lobby"}\n');
    expect((await run(home, ['audit', 'verify'])).text).toContain('did not chain');
    record(home, 1);
    expect(kinds((await run(home, ['audit', 'list'])).data)).toEqual([
      'request-refused',
      'audit-adopted',
      'egress',
      'ipc-link',
    ]);
  });
});

describe('audit verify', () => {
  test('says that a trail is whole, and how to note its end down', async () => {
    const home = await madeHome();
    record(home, 5);
    const { text, data, status } = await run(home, ['audit', 'verify']);
    expect(status).toBe(0);
    const { last } = data as { last: { seq: number; hash: string } };
    expect(text).toContain('the audit trail is whole: 9 lines');
    expect(text).toContain(`last line: 9:${last.hash}`);
    record(home, 5);
    const again = await run(home, ['audit', 'verify', '--expect', `${last.seq}:${last.hash}`]);
    expect(again.status).toBe(0);
    const other = await run(home, ['audit', 'verify', '--expect', `9:${'0'.repeat(64)}`]);
    expect(other.text).toMatch(/audit\.jsonl:9: number 9 is not the line that was noted/);
    expect(other.status).toBe(12);
  });

  test('names what was changed by file and line, with status 12', async () => {
    const home = await madeHome();
    record(home, 9);
    put(
      home,
      linesOf(home).map((line) => line.replace('h3.example', 'h4.example')),
    );
    const { text, data, status } = await run(home, ['audit', 'verify']);
    expect(status).toBe(12);
    expect(text).toContain('BROKEN\n  audit.jsonl:6: number 6 was changed');
    expect(text).toContain('intact: 12 lines, number 1–5, 7–13');
    expect(data).toMatchObject({ ok: false, flaws: [{ file: 'audit.jsonl', line: 6 }] });
  });

  test('refuses a note that is none', async () => {
    const home = await madeHome();
    await expect(run(home, ['audit', 'verify', '--expect', '9'])).rejects.toThrow(/--expect "9"/);
  });
});

describe('audit acknowledge', () => {
  test('does nothing where nothing is broken', async () => {
    const home = await madeHome();
    expect(await run(home, ['audit', 'acknowledge', '--yes'])).toMatchObject({ status: 0, text: 'nothing is broken' });
  });

  test('shows what is broken, and with --yes begins anew behind it', async () => {
    const home = await madeHome();
    record(home, 9);
    put(home, linesOf(home).slice(0, -2));
    const before = readFileSync(home.auditFile);
    const shown = await run(home, ['audit', 'acknowledge']);
    expect(shown.status).toBe(6);
    expect(readFileSync(home.auditFile)).toEqual(before);
    await run(home, ['audit', 'acknowledge', '--yes']);
    record(home, 1);
    const { status, text } = await run(home, ['audit', 'verify']);
    expect(status).toBe(0);
    expect(text).toContain('breaks that were acknowledged');
    expect(text).toContain('audit.jsonl:1: acknowledged: audit.jsonl:11: lines number 12–13 are missing at the end');
  });

  test('is refused while a supervisor has the home', async () => {
    const home = await madeHome();
    const lock = acquireLock(home.lockFile);
    onTestFinished(() => lock.release());
    await expect(run(home, ['audit', 'acknowledge', '--yes'])).rejects.toThrow(/another supervisor/);
  });
});

describe('what an operator does', () => {
  test('is on record: groups by init and by hand, dead letters', async () => {
    const home = await madeHome();
    await run(home, ['groups', 'register', 'local:team', '--folder', 'team']);
    const stores = openStores(home, Date.now);
    const message = {
      id: 'm1',
      chat: GroupId.parse('local:lobby'),
      threadId: null,
      senderId: 's',
      senderName: 's',
      text: 'hi',
      replyToId: null,
      at: new Date().toISOString(),
    };
    stores.inbound.accept({ message: message as never, group: message.chat, session: 'default' as never, backlog: 0 });
    stores.close();
    await run(home, ['dead', 'drop', '--all']);
    const { data } = await run(home, ['audit', 'list']);
    expect(kinds(data)).toEqual([...Array(4).fill('group-registered'), 'dead-dropped']);
    expect((data as unknown[])[3]).toMatchObject({ group: 'local:team', folder: 'team', tier: 'untrusted' });
    expect((data as unknown[])[4]).toMatchObject({ letters: 1, ids: expect.stringMatching(/^m\d+$/) });
  });

  test('is not done, and not on record, where it is refused', async () => {
    const home = await madeHome();
    await expect(run(home, ['groups', 'register', 'local:lobby', '--folder', 'other'])).rejects.toThrow(/lobby/);
    expect(kinds((await run(home, ['audit', 'list'])).data)).toHaveLength(3);
  });

  test('is not done where it can’t be put on record', async () => {
    const home = await madeHome();
    renameSync(home.auditFile, `${home.auditFile}.away`);
    mkdirSync(home.auditFile);
    await expect(run(home, ['groups', 'register', 'local:team', '--folder', 'team'])).rejects.toThrow(
      /not a regular file/,
    );
    expect((await run(home, ['groups', 'list'])).text).not.toContain('team');
  });

  test('is recorded by the supervisor where one runs', async () => {
    const home = await madeHome();
    const lock = acquireLock(home.lockFile);
    onTestFinished(() => lock.release());
    const seen: unknown[] = [];
    const supervisor: ControlledSupervisor = {
      status: () => {
        throw new Error('not asked');
      },
      chat: async function* () {},
      cancel: () => false,
      record: (request) => void seen.push(request),
      shutdown: () => undefined,
    };
    const control = await startControl({
      socketPath: home.controlSocket,
      supervisor,
      logger: pino({ level: 'silent' }),
    });
    onTestFinished(() => control.close());
    const before = readFileSync(home.auditFile, 'utf8');
    await run(home, ['groups', 'register', 'local:team', '--folder', 'team']);
    expect(seen).toMatchObject([{ kind: 'group-registered', group: 'local:team', details: { folder: 'team' } }]);
    expect(readFileSync(home.auditFile, 'utf8')).toBe(before);
  });

  test('waits for another command that has the lock', async () => {
    const home = await madeHome();
    const lock = acquireLock(home.lockFile);
    setTimeout(() => lock.release(), 300);
    await putOnRecord(home, { kind: 'gc', details: {} });
    expect(kinds((await run(home, ['audit', 'list'])).data).at(-1)).toBe('gc');
  });
});

describe('doctor', () => {
  const checkOf = async (home: Home) => {
    const { data } = await run(home, ['doctor', '--json']);
    return (data as { checks: { id: string; status: string; found: string }[] }).checks.find(
      ({ id }) => id === 'audit',
    );
  };

  test('finds a whole trail good, and says where a broken one is broken', async () => {
    const home = await madeHome();
    expect(await checkOf(home)).toMatchObject({ status: 'ok', found: expect.stringContaining('number 3') });
    appendFileSync(home.auditFile, '{"kind":"forged"}\n');
    expect(await checkOf(home)).toMatchObject({ status: 'fail', found: expect.stringContaining('audit.jsonl:4') });
  });
});
