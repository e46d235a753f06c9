/** What the doctor finds in a home and on its machine: real files, real databases, and judged numbers. */
import { chmod, chown, mkdir, symlink, truncate, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { parseConfig } from '../../../src/config.ts';
import { AppError } from '../../../src/errors.ts';
import { judgeBytes, judgeInodes } from '../../../src/ops/checks/disk.ts';
import { judgeInotify } from '../../../src/ops/checks/machine.ts';
import { findFileSystem, judgeQuotas } from '../../../src/ops/checks/quota.ts';
import type { Examined } from '../../../src/ops/doctor.ts';
import { createSecrets } from '../../../src/secrets.ts';
import { openStores } from '../../../src/store/stores.ts';
import { check, ENGINE, examined, known, unknown } from '../examined.ts';

const GIB = 1024 ** 3;

describe('room on the disk', () => {
  test.each([
    ['less than 512 MiB', { free: 0.4 * GIB, total: 2 * GIB }, 'fail'],
    ['less than 2 GiB', { free: 1.9 * GIB, total: 4 * GIB }, 'warn'],
    ['less than a tenth', { free: 9 * GIB, total: 100 * GIB }, 'warn'],
    ['enough', { free: 50 * GIB, total: 100 * GIB }, 'ok'],
  ])('%s', (_, room, status) => {
    expect(judgeBytes(room, '/h')).toMatchObject({ status, found: expect.stringContaining('at /h') });
  });

  test('fails below the floor, and says that no turn starts', () => {
    const finding = judgeBytes({ free: 3 * GIB, total: 200 * GIB }, '/h', 4 * GIB);
    expect(finding).toMatchObject({ status: 'fail', found: expect.stringContaining('no turn starts below 4.0 GB') });
    expect(finding.hint).toContain('tierclaw gc');
  });

  test('is looked at where the engine keeps its files, too', async () => {
    const { dir } = (await examined()).home;
    const machine = { ...ENGINE.machine, rootDirectory: dir };
    const patient = await examined({ engine: known({ ...ENGINE, machine }) });
    expect((await check('disk:engine', patient)).found).toContain(`at ${dir}`);
  });

  test.each([
    ['none', { free: 1, total: 1000 }, 'fail'],
    ['few', { free: 50, total: 1000 }, 'warn'],
    ['many', { free: 500, total: 1000 }, 'ok'],
    ['as many as are needed', { free: 0, total: 0 }, 'ok'],
  ])('for files: %s', (_, room, status) => {
    expect(judgeInodes(room, '/h').status).toBe(status);
  });

  test('is that of the nearest directory which is there', async () => {
    const patient = await examined();
    expect((await check('disk', patient)).found).toContain(`at ${patient.home.dir}`);
    await mkdir(patient.home.data);
    expect((await check('disk', patient)).found).toContain(`at ${patient.home.data}`);
  });
});

test.each([
  ['enough', { instances: 128, watches: 65_536 }, 'ok', null],
  ['few instances', { instances: 64, watches: 65_536 }, 'warn', 'sysctl -w fs.inotify.max_user_instances=512'],
  ['few watches', { instances: 128, watches: 1_000 }, 'warn', 'sysctl -w fs.inotify.max_user_watches=65536'],
])('inotify: %s', (_, limits, status, hint) => {
  expect(judgeInotify(limits)).toMatchObject({ status, hint });
});

test.each([
  ['shared with the supervisor', { ownUid: 1000, containerUid: 1000 }, 'warn', /share its kernel limits/],
  ['a login user’s', { ownUid: 0, containerUid: 1 }, 'warn', /the user "daemon"/],
  ['its own', { ownUid: 0, containerUid: 1_999_999_999 }, 'ok', /as uid 1999999999/],
])('the containers’ user id is %s', async (_, uids, status, found) => {
  expect(await check('uid', await examined(uids))).toMatchObject({ status, found: expect.stringMatching(found) });
});

describe('a home', () => {
  test('that isn’t there, or hasn’t been made, is named with the command that makes it', async () => {
    const patient = await examined();
    const hint = `tierclaw --home ${patient.home.dir} init`;
    expect(await check('home', patient)).toMatchObject({ status: 'fail', hint });
    openStores(patient.home, Date.now).close();
    expect(await check('home', patient)).toMatchObject({ status: 'ok', found: patient.home.dir });
  });

  test('whose data others may read is told the mode and the command', async () => {
    const patient = await examined();
    await mkdir(patient.home.data);
    await chmod(patient.home.data, 0o755);
    expect(await check('data-directory', patient)).toMatchObject({
      status: 'fail',
      found: expect.stringContaining('0755'),
      hint: `chmod 700 '${patient.home.data}'`,
    });
    await chmod(patient.home.data, 0o700);
    expect(await check('data-directory', patient)).toMatchObject({ status: 'ok' });
  });

  test('whose control socket others may use is told so', async () => {
    const patient = await examined();
    await mkdir(patient.home.data);
    expect(await check('control-socket', patient)).toMatchObject({ status: 'ok' });
    const server = createServer().listen(patient.home.controlSocket);
    onTestFinished(() => void server.close());
    await expect.poll(() => server.listening).toBe(true);
    await chmod(patient.home.controlSocket, 0o666);
    expect(await check('control-socket', patient)).toMatchObject({
      status: 'fail',
      hint: `chmod 600 '${patient.home.controlSocket}'`,
    });
    await chmod(patient.home.controlSocket, 0o600);
    expect(await check('control-socket', patient)).toMatchObject({ status: 'ok' });
  });

  test('with something else in a socket’s place is told to look at it', async () => {
    const patient = await examined();
    await mkdir(patient.home.data);
    await writeFile(patient.home.controlSocket, '');
    expect(await check('control-socket', patient)).toMatchObject({
      status: 'fail',
      found: expect.stringContaining('is not a socket'),
    });
  });

  const groups = async (patient: Examined): Promise<string> => {
    const path = join(patient.home.groups, 'lobby');
    await mkdir(path, { recursive: true });
    await mkdir(patient.home.global);
    return path;
  };

  test('with a group folder of a third user’s is told whose it must be', async () => {
    const patient = await examined();
    const path = await groups(patient);
    expect(await check('group-folders', patient)).toMatchObject({ status: 'ok', found: expect.stringMatching(/^1,/) });
    await chown(path, 4_242, 4_242);
    const hint = `chown -R 10001:10001 '${path}'`;
    expect(await check('group-folders', patient)).toMatchObject({ status: 'warn', hint });
    const plain = { ...patient, ownUid: 1000 };
    expect(await check('group-folders', plain)).toMatchObject({ status: 'fail', hint: `as root: ${hint}` });
  });

  test('with a link for a group folder is told that turns refuse it', async () => {
    const patient = await examined();
    await groups(patient);
    await symlink('/etc', join(patient.home.groups, 'planted'));
    expect(await check('group-folders', patient)).toMatchObject({
      status: 'fail',
      found: expect.stringContaining('is a link'),
    });
  });

  test('whose engine socket has too long a path is told how long it may be', async () => {
    const engineSocket = known(`/${'x'.repeat(107)}`);
    expect(await check('socket-paths', await examined({ engineSocket }))).toMatchObject({
      status: 'fail',
      found: expect.stringContaining('108 bytes; the kernel takes 107'),
    });
    expect((await check('socket-paths', await examined())).status).toBe('ok');
  });
});

describe('a database', () => {
  test('is whole, missing, damaged, foreign or newer', async () => {
    const patient = await examined();
    const { home } = patient;
    expect(await check('database:state', patient)).toMatchObject({ status: 'warn', hint: 'tierclaw init' });
    openStores(home, Date.now).close();
    expect(await check('database:state', patient)).toMatchObject({
      status: 'ok',
      found: expect.stringMatching(/^whole/),
    });
    expect(await check('database:messages', patient)).toMatchObject({ status: 'ok' });
    await truncate(home.stateDatabase, 10_000);
    expect(await check('database:state', patient)).toMatchObject({
      status: 'fail',
      found: expect.stringContaining('is damaged'),
      hint: expect.stringContaining('tierclaw db restore state'),
    });
    await writeFile(home.messageDatabase, 'no database at all, but long enough to look like a file of some kind');
    expect(await check('database:messages', patient)).toMatchObject({ status: 'fail' });
  });
});

describe('what turns are told', () => {
  test('is missing, empty, a link, or there', async () => {
    const patient = await examined();
    const path = join(patient.home.global, 'SOUL.md');
    expect((await check('persona:owner', patient)).found).toContain('is missing');
    await mkdir(patient.home.global, { recursive: true });
    await writeFile(path, '  \n');
    expect((await check('persona:owner', patient)).found).toContain('is empty');
    await writeFile(path, 'I am.');
    expect(await check('persona:owner', patient)).toMatchObject({ status: 'ok' });
    await symlink('/etc/passwd', join(patient.home.global, 'SOUL-untrusted.md'));
    expect((await check('persona:public', patient)).found).toContain('can’t be used');
  });

  test('lacks a tile: the tiers that need it are told, the others not', async () => {
    const readTile = async (tile: string): Promise<void> => {
      if (tile === 'admin') throw new AppError({ code: 'config', message: 'tile "admin" is missing' });
    };
    const patient = await examined({ readTile });
    expect(await check('tiles:main', patient)).toMatchObject({
      status: 'fail',
      found: 'tile "admin" is missing',
      hint: expect.stringContaining('git checkout tiles/'),
    });
    expect(await check('tiles:trusted', patient)).toMatchObject({ status: 'ok' });
  });
});

describe('a supervisor', () => {
  test.each([
    ['of this version', known({ pid: 7, version: '1.0.0' }), 'ok', /pid 7/],
    ['of another version', known({ pid: 7, version: '0.9.0' }), 'warn', /0\.9\.0; this is 1\.0\.0/],
    ['that isn’t there', known(null), 'warn', /no message is answered/],
    ['that doesn’t answer', unknown('it did not answer'), 'fail', /did not answer/],
  ])('%s', async (_, supervisor, status, found) => {
    const result = await check('supervisor', await examined({ supervisor }));
    expect(result).toMatchObject({ status, found: expect.stringMatching(found) });
  });

  test('that is gone has left containers and directories behind, or has not', async () => {
    const patient = await examined({ supervisor: known(null) });
    expect(await check('leftovers', patient)).toMatchObject({ status: 'ok', found: 'none' });
    await mkdir(join(patient.home.turns, 'A'), { recursive: true });
    await mkdir(join(patient.home.ipc, 'lobby', 'A'), { recursive: true });
    expect(await check('leftovers', { ...patient, containers: known(3) })).toMatchObject({
      status: 'warn',
      found: expect.stringContaining('3 containers and 2 directories'),
    });
    expect(await check('leftovers', await examined())).toMatchObject({ status: 'ok' });
  });
});

describe('secrets in containers', () => {
  test('are found by their value, whatever the variable is called', async () => {
    const patient = await examined();
    expect(await check('container-secrets', patient)).toMatchObject({
      status: 'ok',
      found: 'none; containers get HOME, LANG and no secret',
    });
    const secrets = known(createSecrets(new Map([['KEY', 'sk-secret-value']]), patient.home.envFile));
    const plans = patient.plans.map(({ plan, env }) => ({ plan, env: { ...env, HARMLESS: 'x=sk-secret-value' } }));
    const result = await check('container-secrets', { ...patient, secrets, plans });
    expect(result).toMatchObject({ status: 'warn', found: expect.stringContaining('HARMLESS (main)') });
    expect(JSON.stringify(result)).not.toContain('sk-secret-value');
  });
});

describe('credentials', () => {
  const withCredential = async () => {
    const patient = await examined();
    const yaml = 'credentials: { a: { kind: environment, variable: MAIL_KEY, secret: KEY, tiers: [trusted] } }';
    return { ...patient, config: known(parseConfig(yaml, patient.home.configFile)) };
  };

  test('that containers get as environment are named, with who gets them', async () => {
    const result = await check('container-secrets', await withCredential());
    expect(result).toMatchObject({ status: 'warn', found: 'containers can read: MAIL_KEY (trusted)' });
  });

  test('without their secret fail, and with it don’t', async () => {
    const patient = await withCredential();
    expect(await check('credentials', patient)).toMatchObject({
      status: 'fail',
      found: 'credentials.a: the secret KEY: it is not there',
    });
    const secrets = known(createSecrets(new Map([['KEY', 'sk-secret-value']]), patient.home.envFile));
    const mended = await check('credentials', { ...patient, secrets });
    expect(mended).toMatchObject({ status: 'ok', found: '1, each with its secret' });
  });

  test('of a source that can’t be read are a failure with the source’s own hint', async () => {
    const problem = new AppError({
      code: 'config',
      message: '/h/agents/a/.env: others may read it',
      hint: 'chmod 600',
    });
    const result = await check('secret-sources', await examined({ secretProblems: [problem] }));
    expect(result).toMatchObject({ status: 'fail', found: problem.message, hint: 'chmod 600' });
    expect(await check('secret-sources', await examined())).toMatchObject({ status: 'ok' });
  });
});

describe('disk quotas', () => {
  const MOUNTS = [
    '22 27 0:21 / /proc rw,relatime - proc proc rw',
    '27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,errors=remount-ro',
    '90 27 8:17 / /srv rw master:2 - xfs /dev/sdb1 rw,attr2,prjquota',
  ].join('\n');

  test.each([
    ['254:0', { type: 'ext4', hasProjectQuotas: false }],
    ['8:17', { type: 'xfs', hasProjectQuotas: true }],
    ['0:99', null],
  ])('on the device %s are those of its file system', (device, expected) => {
    expect(findFileSystem(MOUNTS, device)).toEqual(expected);
  });

  test('are said to be kept by measuring, and what isn’t measured without root', async () => {
    expect(judgeQuotas({ type: 'ext4', hasProjectQuotas: false }, true)).toMatchObject({
      status: 'ok',
      found: expect.stringContaining('beyond'),
    });
    expect(judgeQuotas(null, false)).toMatchObject({ status: 'warn', found: expect.stringContaining('unknown') });
    expect((await check('quotas', await examined())).found).toMatch(/on (?!an unknown)\w+/);
  });
});
