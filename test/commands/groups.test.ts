/** Making a home and registering groups, against real databases and directories. */
import { chmod, lstat, mkdir, readdir, readFile, readlink, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { withStores } from '../../src/commands/groups-find.ts';
import { parseRegistration, registerGroup } from '../../src/commands/groups-register.ts';
import { parseConfig } from '../../src/config.ts';
import { DEFAULT_TIER, SOLE_TIER, TIER_NAMES } from '../../src/domain/tiers.ts';
import type { Home } from '../../src/home.ts';
import { openStores } from '../../src/store/stores.ts';
import { run, temporaryHome } from './home-fixture.ts';

const registered = (home: Home): Promise<string[]> =>
  withStores(home, ({ groups }) => groups.list().map(({ id, folder, tier }) => `${id} ${folder} ${tier}`));

const DEFAULT_GROUPS = ['local:friends friends trusted', 'local:lobby lobby untrusted', 'local:main main main'];

const tree = async (home: Home): Promise<string[]> =>
  (await readdir(home.dir, { recursive: true })).filter((path) => !path.startsWith('data')).sort();

describe('init', () => {
  test('makes a whole home: files, private secrets, a group per tier', async () => {
    const home = await temporaryHome();
    await run(home, ['init']);
    expect(await tree(home)).toEqual([
      '.env',
      'agents',
      'agents/default',
      'agents/default/workspace',
      'groups',
      'groups/friends',
      'groups/friends/CLAUDE.md',
      'groups/global',
      'groups/global/CLAUDE.md',
      'groups/global/SOUL-untrusted.md',
      'groups/global/SOUL.md',
      'groups/lobby',
      'groups/lobby/CLAUDE.md',
      'groups/main',
      'groups/main/CLAUDE.md',
      'tierclaw.yaml',
      'trusted',
    ]);
    expect((await stat(home.envFile)).mode & 0o777).toBe(0o600);
    expect((await stat(home.data)).mode & 0o777).toBe(0o700);
    expect(await registered(home)).toEqual(DEFAULT_GROUPS);
  });

  test('run again changes nothing and says so; what the owner wrote stays', async () => {
    const home = await temporaryHome();
    await run(home, ['init']);
    const soul = join(home.global, 'SOUL.md');
    await writeFile(soul, 'mine');
    const before = await tree(home);
    const { data, text } = await run(home, ['init']);
    expect((data as { steps: { outcome: string }[] }).steps.map(({ outcome }) => outcome)).not.toContain('made');
    expect(text).toMatch(/^ {2}groups\/global\/SOUL.md +was there$/m);
    expect(await readFile(soul, 'utf8')).toBe('mine');
    expect(await tree(home)).toEqual(before);
    expect(await registered(home)).toEqual(DEFAULT_GROUPS);
  });

  test('run again makes what is missing and takes back rights that others have got', async () => {
    const home = await temporaryHome();
    await run(home, ['init']);
    await rm(join(home.global, 'SOUL.md'));
    await chmod(home.envFile, 0o644);
    await chmod(home.data, 0o755);
    const { text } = await run(home, ['init']);
    expect(text).toMatch(/^ {2}groups\/global\/SOUL.md +made$/m);
    expect(text).toMatch(/^ {2}\.env +was there; others’ rights taken away$/m);
    expect((await stat(home.envFile)).mode & 0o777).toBe(0o600);
    expect((await stat(home.data)).mode & 0o777).toBe(0o700);
  });

  test('keeps to the group that has the sole tier already', async () => {
    const home = await temporaryHome();
    await mkdir(home.groups);
    const own = { id: 'local:hq', folder: 'hq', tier: SOLE_TIER };
    const stores = openStores(home, Date.now);
    await registerGroup(home, stores, parseRegistration(own, parseConfig('', 'tierclaw.yaml')));
    stores.close();
    await run(home, ['init']);
    expect((await registered(home)).filter((line) => line.endsWith(` ${SOLE_TIER}`))).toEqual(['local:hq hq main']);
    expect(await readdir(home.groups)).not.toContain('main');
  });

  test('refuses a link where a directory or a file belongs, and leaves its target alone', async () => {
    const home = await temporaryHome();
    await mkdir(join(home.dir, 'elsewhere'));
    await symlink(join(home.dir, 'elsewhere'), home.groups);
    await expect(run(home, ['init'])).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining(home.groups),
    });
    expect(await readdir(join(home.dir, 'elsewhere'))).toEqual([]);
  });

  test('never writes through a dangling link', async () => {
    const home = await temporaryHome();
    await mkdir(home.global, { recursive: true });
    const target = join(home.dir, 'target');
    await symlink(target, join(home.global, 'SOUL.md'));
    await expect(run(home, ['init'])).rejects.toMatchObject({ code: 'conflict' });
    await expect(lstat(target)).rejects.toMatchObject({ code: 'ENOENT' });
    expect(await readlink(join(home.global, 'SOUL.md'))).toBe(target);
  });
});

describe('register', () => {
  test('without a tier gives the default one, makes the folder and says what comes next', async () => {
    const home = await temporaryHome();
    await run(home, ['init']);
    const { text, data } = await run(home, [
      'groups',
      'register',
      'local:team',
      '--folder',
      'team',
      '--name',
      'Our team',
    ]);
    expect(data).toMatchObject({
      id: 'local:team',
      folder: 'team',
      tier: DEFAULT_TIER,
      name: 'Our team',
      agent: 'default',
    });
    expect(text).toContain('tierclaw plan team');
    expect(await readdir(join(home.groups, 'team'))).toEqual(['CLAUDE.md']);
  });

  test('takes a folder that is there as it is', async () => {
    const home = await temporaryHome();
    await run(home, ['init']);
    await mkdir(join(home.groups, 'team'));
    await writeFile(join(home.groups, 'team', 'CLAUDE.md'), 'mine');
    await run(home, ['groups', 'register', 'local:team', '--folder', 'team']);
    expect(await readFile(join(home.groups, 'team', 'CLAUDE.md'), 'utf8')).toBe('mine');
  });

  const FOLDER_RULE = 'a group folder is 1–64 characters of a-z, 0-9, - and _, and begins with a letter or digit';
  const long = 'x'.repeat(300);

  test.each([
    {
      asked: ['local:t', '--folder', '../x'],
      code: 'usage',
      message: `--folder "../x" (4 characters): ${FOLDER_RULE}`,
    },
    { asked: ['local:t', '--folder', '/x'], code: 'usage', message: `--folder "/x" (2 characters): ${FOLDER_RULE}` },
    { asked: ['local:t', '--folder', ''], code: 'usage', message: `--folder "" (0 characters): ${FOLDER_RULE}` },
    { asked: ['local:t', '--folder', '.'], code: 'usage', message: `--folder "." (1 characters): ${FOLDER_RULE}` },
    {
      asked: ['local:t', '--folder', 'команда'],
      code: 'usage',
      message: `--folder "команда" (7 characters): ${FOLDER_RULE}`,
    },
    {
      asked: ['local:t', '--folder', 'Team'],
      code: 'usage',
      message: `--folder "Team" (4 characters): ${FOLDER_RULE}`,
    },
    {
      asked: ['local:t', '--folder', long],
      code: 'usage',
      message: `--folder "${'x'.repeat(59)}…" (300 characters): ${FOLDER_RULE}`,
    },
    {
      asked: ['local:t', '--folder', 'global'],
      code: 'usage',
      message: '--folder "global" (6 characters): "global" and "templates" are reserved names',
    },
    {
      asked: ['local:t', '--folder', 'templates'],
      code: 'usage',
      message: '--folder "templates" (9 characters): "global" and "templates" are reserved names',
    },
    {
      asked: ['team', '--folder', 't'],
      code: 'usage',
      message: 'group id "team" (4 characters): a group id is <channel instance>:<chat id>, e.g. local:lobby',
    },
    {
      asked: ['nowhere:1', '--folder', 't'],
      code: 'usage',
      message: 'group id "nowhere:1" (9 characters): there is no channel "nowhere"; there are: local',
    },
    {
      asked: ['local:t', '--folder', 't', '--tier', 'admin'],
      code: 'usage',
      message: `--tier "admin" (5 characters): a tier is one of ${TIER_NAMES.join(', ')}`,
    },
    {
      asked: ['local:t', '--folder', 't', '--agent', 'nobody'],
      code: 'not-found',
      message: '--agent "nobody": there is no such agent; there are: default',
    },
    {
      asked: ['local:t', '--folder', 't', '--name', 'a\u001b[31mb'],
      code: 'usage',
      message: '--name "ab" (7 characters): a name is 1–200 characters on one line, without control characters',
    },
    {
      asked: ['local:t', '--folder', 't', '--tier', SOLE_TIER],
      code: 'conflict',
      message: `local:t can't be registered with tier ${SOLE_TIER}: exactly one group has it, and that is "main" (local:main, folder main, tier main)`,
    },
    {
      asked: ['local:lobby', '--folder', 't'],
      code: 'conflict',
      message: 'local:lobby is already registered as "lobby" (local:lobby, folder lobby, tier untrusted)',
    },
    {
      asked: ['local:t', '--folder', 'lobby'],
      code: 'conflict',
      message: 'the folder "lobby" is taken by "lobby" (local:lobby, folder lobby, tier untrusted)',
    },
  ])('refuses $asked and leaves nothing half-done', async ({ asked, code, message }) => {
    const home = await temporaryHome();
    await run(home, ['init']);
    const before = await tree(home);
    await expect(run(home, ['groups', 'register', ...asked])).rejects.toMatchObject({ code, message });
    expect(await tree(home)).toEqual(before);
    expect(await registered(home)).toEqual(DEFAULT_GROUPS);
  });

  test('refuses a folder that is a link, without touching what it points at', async () => {
    const home = await temporaryHome();
    await run(home, ['init']);
    await mkdir(join(home.dir, 'elsewhere'));
    await symlink(join(home.dir, 'elsewhere'), join(home.groups, 'team'));
    await expect(run(home, ['groups', 'register', 'local:t', '--folder', 'team'])).rejects.toMatchObject({
      code: 'conflict',
      message: `${join(home.groups, 'team')} is there already and is not a directory (a link isn't one either)`,
    });
    expect(await readdir(join(home.dir, 'elsewhere'))).toEqual([]);
    expect(await registered(home)).toEqual(DEFAULT_GROUPS);
  });

  test('refuses instructions that are a link and takes back the folder only if it made it', async () => {
    const home = await temporaryHome();
    await run(home, ['init']);
    await mkdir(join(home.groups, 'team'));
    await symlink('/etc/passwd', join(home.groups, 'team', 'CLAUDE.md'));
    await expect(run(home, ['groups', 'register', 'local:t', '--folder', 'team'])).rejects.toMatchObject({
      code: 'conflict',
    });
    expect(await readdir(join(home.groups, 'team'))).toEqual(['CLAUDE.md']);
    expect(await registered(home)).toEqual(DEFAULT_GROUPS);
  });

  test('knows the agents that the configuration declares', async () => {
    const home = await temporaryHome();
    await run(home, ['init']);
    await writeFile(home.configFile, 'agents:\n  librarian: {}\n');
    const { data } = await run(home, ['groups', 'register', 'local:t', '--folder', 't', '--agent', 'librarian']);
    expect(data).toMatchObject({ agent: 'librarian' });
  });
});

describe('asking about groups', () => {
  test('lists them as a table', async () => {
    const home = await temporaryHome();
    await run(home, ['init']);
    expect((await run(home, ['groups', 'list'])).text).toBe(
      [
        'folder   tier       id             agent    name',
        'friends  trusted    local:friends  default  friends',
        'lobby    untrusted  local:lobby    default  lobby',
        'main     main       local:main     default  main',
      ].join('\n'),
    );
  });

  test.each(['lobby', 'local:lobby', 'The Lobby'])('finds one by %s', async (asked) => {
    const home = await temporaryHome();
    await run(home, ['init']);
    await run(home, ['groups', 'register', 'local:hall', '--folder', 'hall', '--name', 'The Lobby']);
    const { data } = await run(home, ['groups', 'show', asked]);
    expect(data).toMatchObject({ folder: asked === 'The Lobby' ? 'hall' : 'lobby' });
  });

  test('says what there is when none goes by that name', async () => {
    const home = await temporaryHome();
    await run(home, ['init']);
    await expect(run(home, ['groups', 'show', 'nowhere'])).rejects.toMatchObject({
      code: 'not-found',
      message: 'no group goes by "nowhere"; there are: friends, lobby, main',
      hint: 'tierclaw groups list',
    });
  });

  test('does not choose between two of the same name', async () => {
    const home = await temporaryHome();
    await run(home, ['init']);
    await run(home, ['groups', 'register', 'local:a', '--folder', 'a', '--name', 'Twins']);
    await run(home, ['groups', 'register', 'local:b', '--folder', 'b', '--name', 'Twins']);
    await expect(run(home, ['groups', 'show', 'Twins'])).rejects.toMatchObject({
      code: 'conflict',
      message: '2 groups are called "Twins": local:a, local:b',
    });
  });

  test.each([[['groups', 'list']], [['plan', 'lobby']], [['chat', '--once', 'x']]])(
    '%j makes no home where there is none',
    async (words) => {
      const home = await temporaryHome();
      await expect(run(home, words)).rejects.toMatchObject({ code: 'not-found', hint: 'make one with: tierclaw init' });
      expect(await readdir(home.dir)).toEqual([]);
    },
  );
});

describe('plan', () => {
  test('of a tier needs no home, of a group shows that group', async () => {
    const home = await temporaryHome();
    const ofTier = await run(home, ['plan', '--tier', DEFAULT_TIER]);
    expect(ofTier.data).toMatchObject({ tier: DEFAULT_TIER, home: home.dir });
    expect(await readdir(home.dir)).toEqual([]);
    await run(home, ['init']);
    expect((await run(home, ['plan', 'lobby'])).text).toContain('lobby (local:lobby), folder lobby');
    expect((await run(home, ['plan'])).data).toMatchObject({ tier: SOLE_TIER });
  });

  test('of a tier that does not exist names those that do', async () => {
    const home = await temporaryHome();
    await expect(run(home, ['plan', '--tier', 'root'])).rejects.toMatchObject({
      code: 'usage',
      message: `--tier "root": a tier is one of ${TIER_NAMES.join(', ')}`,
    });
  });
});
