import { chmod, link, mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { AuditEvent } from '../../src/audit.ts';
import type { SecretCommands } from '../../src/domain/credential-config.ts';
import { homeAt } from '../../src/home.ts';
import { openSecrets, readSecrets } from '../../src/secrets/live.ts';
import { watchSecrets } from '../../src/secrets/watch.ts';
import { temporaryDirectory } from '../gateway/setup.ts';

const PRIVATE = { mode: 0o600 };

const makeHome = async (files: Readonly<Record<string, string>> = {}) => {
  const home = homeAt(await temporaryDirectory());
  await mkdir(join(home.agents, 'alice', 'workspace'), { recursive: true });
  await mkdir(join(home.agents, 'bob', 'workspace'), { recursive: true });
  for (const [name, text] of Object.entries(files)) await writeFile(join(home.dir, name), text, PRIVATE);
  return home;
};

const open = async (files: Readonly<Record<string, string>>, commands: SecretCommands = {}) => {
  const home = await makeHome(files);
  return { home, secrets: await openSecrets({ home, commands }) };
};

const ALICE = 'agents/alice/.env';
const BOB = 'agents/bob/.env';

describe('an agent’s own secrets', () => {
  it('are that agent’s alone: no other’s, and not the home’s', async () => {
    const { secrets } = await open({
      '.env': 'GITHUB_TOKEN=of-the-home\nONLY_HOME=home-value',
      [ALICE]: 'GITHUB_TOKEN=of-alice',
      [BOB]: 'GITHUB_TOKEN=of-bob-bob\nONLY_BOB=bob-value',
    });
    expect([null, 'alice', 'bob', 'carol'].map((owner) => secrets.get('GITHUB_TOKEN', owner))).toEqual([
      'of-the-home',
      'of-alice',
      'of-bob-bob',
      undefined,
    ]);
    expect(secrets.get('ONLY_HOME', 'alice')).toBeUndefined();
    expect(secrets.get('ONLY_BOB')).toBeUndefined();
    expect(secrets.get('ONLY_BOB', 'alice')).toBeUndefined();
    expect(() => secrets.require('ONLY_HOME', 'alice')).toThrow(/agents\/alice\/\.env: there is no secret ONLY_HOME/);
    expect(secrets.redact('of-alice of-bob-bob of-the-home')).toBe('[redacted] [redacted] [redacted]');
  });

  it('that can’t be read are a problem of that agent’s, and no other’s', async () => {
    const home = await makeHome({ '.env': 'KEY=home-value', [ALICE]: 'KEY=alice-value' });
    await chmod(join(home.dir, ALICE), 0o640);
    const secrets = await openSecrets({ home, commands: {} });
    expect(secrets.get('KEY', 'alice')).toBeUndefined();
    expect(secrets.get('KEY')).toBe('home-value');
    expect(secrets.problems()).toMatchObject([{ code: 'config', hint: `chmod 600 ${join(home.dir, ALICE)}` }]);
    expect(() => secrets.require('KEY', 'alice')).toThrow('its mode is 0640');
  });

  it('of an agent whose directory is a link aren’t read', async () => {
    const home = await makeHome({ [BOB]: 'KEY=bob-value' });
    await symlink(join(home.agents, 'bob'), join(home.agents, 'mallory'));
    const secrets = await openSecrets({ home, commands: {} });
    expect(secrets.get('KEY', 'mallory')).toBeUndefined();
    expect(secrets.get('KEY', 'bob')).toBe('bob-value');
  });
});

describe('a secrets file', () => {
  it.each<[string, string, (file: string) => Promise<unknown>]>([
    [
      'is a link',
      'it is a link',
      async (file) => {
        await rename(file, `${file}.real`);
        await symlink(`${file}.real`, file);
      },
    ],
    [
      'is a directory',
      'not a regular file',
      async (file) => {
        await rm(file);
        await mkdir(file, PRIVATE);
      },
    ],
    [
      'is a FIFO',
      'not a regular file',
      async (file) => {
        await rm(file);
        await execa('mkfifo', ['-m', '600', file]);
      },
    ],
    ['is another user’s', 'it belongs to uid 12345', (file) => execa('chown', ['12345', file])],
    ['may be read by a group', 'its mode is 0640', (file) => chmod(file, 0o640)],
    ['may be written by anybody', 'its mode is 0602', (file) => chmod(file, 0o602)],
    ['is huge', 'larger than', (file) => writeFile(file, 'x'.repeat(2 * 1024 * 1024))],
    ['is broken', ':1: not NAME=value', (file) => writeFile(file, 'topsecret words')],
  ])('that %s stops the start, with a hint and no value', async (_, words, spoil) => {
    const home = await makeHome({ '.env': 'KEY=topsecret' });
    await spoil(home.envFile);
    const opening = openSecrets({ home, commands: {} });
    await expect(opening).rejects.toMatchObject({ code: 'config', hint: expect.stringMatching(/./) });
    await expect(opening).rejects.toThrow(words);
    await expect(opening).rejects.not.toThrow('topsecret');
  });

  it('with a second name is read: who has that could read it anyway', async () => {
    const home = await makeHome({ '.env': 'KEY=value-1' });
    await link(home.envFile, join(home.dir, 'backup'));
    expect((await openSecrets({ home, commands: {} })).get('KEY')).toBe('value-1');
  });
});

describe('secrets from commands', () => {
  const sh = (script: string) => ({ command: ['sh', '-c', script], timeoutSeconds: 5 });

  it('stand beside those of the file; one that fails says so where it is needed', async () => {
    const { secrets } = await open({ '.env': 'A=from-file' }, { B: sh('echo from-command'), C: sh('exit 4') });
    expect([secrets.get('A'), secrets.get('B'), secrets.get('C')]).toEqual(['from-file', 'from-command', undefined]);
    expect(() => secrets.require('C')).toThrow('the secret C: its command (sh) ended with exit status 4');
    expect(secrets.problems()).toHaveLength(1);
    expect(secrets.list()).toContainEqual({ name: 'B', owner: null, origin: 'command sh' });
  });

  it('may not have the name of one in the file', async () => {
    await expect(open({ '.env': 'A=from-file' }, { A: sh('echo x') })).rejects.toThrow('A comes from a command');
  });
});

describe('a reload', () => {
  it('changes all at once, and still takes the old values out of texts', async () => {
    const { home, secrets } = await open({ '.env': 'A=old-value-a\nB=old-value-b', [ALICE]: 'A=old-alice' });
    const { redact } = secrets;
    await writeFile(home.envFile, 'A=new-value-a');
    await rm(join(home.dir, ALICE));
    await secrets.reload('all');
    expect([secrets.get('A'), secrets.get('B'), secrets.get('A', 'alice')]).toEqual([
      'new-value-a',
      undefined,
      undefined,
    ]);
    expect(redact('old-value-a old-value-b old-alice new-value-a')).toBe('[redacted] [redacted] [redacted] [redacted]');
    const filter = secrets.filter();
    expect(
      Buffer.concat([
        filter.push(Buffer.from('x old-value-a new-val')),
        filter.push(Buffer.from('ue-a')),
        filter.end(),
      ]).toString(),
    ).toBe('x [redacted] [redacted]');
  });

  it('keeps what a broken source gave before, and the others’ news', async () => {
    const { home, secrets } = await open({ '.env': 'A=old-value', [ALICE]: 'A=old-alice' });
    await writeFile(home.envFile, 'A="half-writ');
    await writeFile(join(home.dir, ALICE), 'A=new-alice');
    await secrets.reload('all');
    expect([secrets.get('A'), secrets.get('A', 'alice')]).toEqual(['old-value', 'new-alice']);
    expect(secrets.problems()).toMatchObject([{ message: expect.stringContaining('.env:1') }]);
    await writeFile(home.envFile, 'A=mended-value');
    await secrets.reload('all');
    expect([secrets.get('A'), secrets.problems()]).toEqual(['mended-value', []]);
  });

  it('goes on where the agents’ directory can’t be listed, and after it', async () => {
    const { home, secrets } = await open({ '.env': 'A=old-value', [ALICE]: 'A=old-alice' });
    await rename(home.agents, `${home.agents}.away`);
    await symlink('agents', home.agents);
    await secrets.reload('all');
    expect([secrets.get('A', 'alice'), secrets.problems().length]).toEqual(['old-alice', 1]);
    await rm(home.agents);
    await rename(`${home.agents}.away`, home.agents);
    await writeFile(join(home.dir, ALICE), 'A=new-alice');
    await secrets.reload('all');
    expect([secrets.get('A', 'alice'), secrets.problems()]).toEqual(['new-alice', []]);
  });

  it('runs commands again, and keeps the last good word of one that fails', async () => {
    const home = await makeHome();
    const place = join(home.dir, 'printed');
    await writeFile(place, 'value-one');
    const command = { command: ['cat', place], timeoutSeconds: 5 };
    const secrets = await readSecrets({ home, commands: { A: command } });
    await writeFile(place, 'value-two');
    await secrets.reload('files');
    expect(secrets.get('A')).toBe('value-one');
    await secrets.reload('all');
    expect(secrets.get('A')).toBe('value-two');
    await rm(place);
    await secrets.reload('all');
    expect([secrets.get('A'), secrets.problems().length]).toEqual(['value-two', 1]);
  });
});

const watching = async (files: Readonly<Record<string, string>>) => {
  const { home, secrets } = await open(files);
  const lines: string[] = [];
  const events: AuditEvent[] = [];
  const logger = pino({ level: 'info' }, { write: (line: string) => void lines.push(secrets.redact(line)) });
  const audit = { record: (event: AuditEvent) => void events.push(event) };
  const watch = await watchSecrets({ home, secrets, logger, audit });
  onTestFinished(() => watch.close());
  return { home, secrets, lines, events };
};

describe('a watched home', () => {
  it('has a changed, a replaced, a new and a removed file at once', async () => {
    const { home, secrets, events } = await watching({ '.env': 'A=value-1' });
    await writeFile(home.envFile, 'A=value-2', PRIVATE);
    await expect.poll(() => secrets.get('A'), { timeout: 5000 }).toBe('value-2');
    await writeFile(join(home.dir, '.env.new'), 'A=value-3', PRIVATE);
    await rename(join(home.dir, '.env.new'), home.envFile);
    await expect.poll(() => secrets.get('A'), { timeout: 5000 }).toBe('value-3');
    await writeFile(join(home.dir, ALICE), 'A=alice-1', PRIVATE);
    await expect.poll(() => secrets.get('A', 'alice'), { timeout: 5000 }).toBe('alice-1');
    await mkdir(join(home.agents, 'carol'));
    await writeFile(join(home.agents, 'carol', '.env'), 'A=carol-1', PRIVATE);
    await expect.poll(() => secrets.get('A', 'carol'), { timeout: 5000 }).toBe('carol-1');
    await rm(home.envFile);
    await expect.poll(() => secrets.get('A'), { timeout: 5000 }).toBeUndefined();
    expect(events.every(({ kind }) => kind === 'secrets-reloaded')).toBe(true);
    expect(JSON.stringify(events)).not.toMatch(/value-|alice-1/);
  });

  it('keeps the old values while a file is wrong, says so, and takes it once its mode is mended', async () => {
    const { home, secrets, lines, events } = await watching({ '.env': 'A=value-1' });
    await chmod(home.envFile, 0o644);
    await writeFile(home.envFile, 'A=value-2');
    await expect.poll(() => secrets.problems().length, { timeout: 5000 }).toBe(1);
    expect(secrets.get('A')).toBe('value-1');
    await expect.poll(() => lines.join(''), { timeout: 5000 }).toContain('its mode is 0644');
    expect(events).toContainEqual(expect.objectContaining({ kind: 'secrets-refused' }));
    await chmod(home.envFile, 0o600);
    await expect.poll(() => secrets.get('A'), { timeout: 5000 }).toBe('value-2');
    expect(secrets.problems()).toEqual([]);
  });

  it('looks into no workspace', async () => {
    const { home, secrets, events } = await watching({ '.env': 'A=value-1' });
    await writeFile(join(home.agents, 'alice', 'workspace', '.env'), 'A=planted', PRIVATE);
    await mkdir(join(home.groups, 'team'), { recursive: true });
    await writeFile(join(home.groups, 'team', '.env'), 'A=planted', PRIVATE);
    // A change that is seen comes after those that aren't.
    await writeFile(home.envFile, 'A=value-2');
    await expect.poll(() => secrets.get('A'), { timeout: 5000 }).toBe('value-2');
    expect(secrets.list()).toEqual([{ name: 'A', owner: null, origin: home.envFile }]);
    expect(events).toHaveLength(1);
  });
});
