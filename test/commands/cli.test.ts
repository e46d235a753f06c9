/** The command line as words, and as a process: what goes to which stream, and with which exit status. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseCommandLine } from '../../src/commands/index.ts';
import { EXIT_STATUS } from '../../src/errors.ts';
import { packageRoot, packageVersion } from '../../src/package-root.ts';

let directory: string;
let home: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'tierclaw-cli-'));
  home = join(directory, 'home');
});
afterAll(() => rm(directory, { recursive: true, force: true }));

const tierclaw = async (words: readonly string[], env: NodeJS.ProcessEnv = {}) => {
  const child = spawn(process.execPath, [join(packageRoot(), 'dist', 'cli.mjs'), ...words], {
    env: { ...process.env, TIERCLAW_HOME: home, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = once(child, 'exit');
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const [status] = await exited;
  return { out, err, status };
};

describe('words', () => {
  test.each([
    ['before the command', ['--home', '/h', '--json', 'status']],
    ['after it', ['status', '--home', '/h', '--json']],
    ['on both sides', ['--json', 'status', '--home', '/h']],
    ['of a command within a command', ['--json', 'groups', 'list', '--home', '/h']],
  ])('global options may stand %s', async (_, words) => {
    expect(await parseCommandLine(words)).toMatchObject({ kind: 'run', json: true, homeDir: '/h' });
  });

  test('the home nearest to the command wins', async () => {
    expect(await parseCommandLine(['--home', '/a', 'status', '--home', '/b'])).toMatchObject({ homeDir: '/b' });
  });

  test('a message that looks like an option stays a message', async () => {
    expect(await parseCommandLine(['chat', '--once', '--json'])).toMatchObject({ kind: 'run', json: false });
    expect(await parseCommandLine(['chat', '--once', '--help'])).toMatchObject({ kind: 'run' });
  });

  test.each([
    ['an unknown command', ['statsu'], /unknown command 'statsu'\n.*Did you mean status/],
    ['an unknown option', ['status', '--foo'], /unknown option '--foo'/],
    ['an option without its value', ['chat', '--once'], /argument missing/],
    ['too many words', ['status', 'now'], /too many arguments/],
    ['a missing word', ['groups', 'show'], /missing required argument 'group'/],
    ['a missing folder', ['groups', 'register', 'local:x'], /required option '--folder <folder>'/],
    ['no number of lines', ['logs', '--lines', 'many'], /a number of lines is 1–100000/],
    ['no lines at all', ['logs', '-n', '0'], /a number of lines is 1–100000/],
    ['half a run', ['runs', 'list', '--limit', '0.5'], /a number of runs is 1–10000/],
    ['no run', ['runs', 'show'], /missing required argument 'id'/],
  ])('%s is a usage error', async (_, words, message) => {
    await expect(parseCommandLine(words)).rejects.toMatchObject({
      code: 'usage',
      message: expect.stringMatching(message),
    });
  });

  test('help names every command, shows examples and every exit status', async () => {
    const parsed = await parseCommandLine(['--help']);
    if (parsed.kind !== 'text') throw new Error('no help');
    expect(parsed.status).toBe(0);
    for (const word of [
      'init',
      'up',
      'down',
      'status',
      'chat',
      'plan',
      'groups',
      'image',
      'logs',
      'doctor',
      'runs',
      'Examples:',
    ]) {
      expect(parsed.text).toContain(word);
    }
    for (const [code, status] of Object.entries(EXIT_STATUS)) {
      expect(parsed.text).toMatch(new RegExp(`^ +${status} +${code} `, 'm'));
    }
  });

  /** Every command that does something, as the words that name it. */
  const leaves = async (words: readonly string[] = []): Promise<string[][]> => {
    const help = await parseCommandLine([...words, '--help']);
    if (help.kind !== 'text') throw new Error(`no help: ${words.join(' ')}`);
    const [, list] = /^Commands:\n((?: .*\n)*)/m.exec(help.text) ?? [];
    if (list === undefined) return [[...words]];
    const names = [...list.matchAll(/^ {2}([a-z-]+)/gm)].map(([, name = '']) => name).filter((name) => name !== 'help');
    return (await Promise.all(names.map((name) => leaves([...words, name])))).flat();
  };

  test('the help of every command shows examples of that command', async () => {
    const all = await leaves();
    expect(all.length).toBeGreaterThan(25);
    for (const words of all) {
      const help = await parseCommandLine([...words, '--help']);
      expect(help).toMatchObject({ status: 0 });
      const [, examples = ''] = /Examples:\n([\s\S]*)/.exec(help.kind === 'text' ? help.text : '') ?? [];
      expect(examples, words.join(' ')).toContain(`tierclaw ${words.join(' ')}`);
    }
  });

  test('every example is a command line that can be parsed', async () => {
    for (const words of [[], ...(await leaves())]) {
      const help = await parseCommandLine([...words, '--help']);
      const [, examples = ''] = /Examples:\n([\s\S]*?)(?:\n\n|$)/.exec(help.kind === 'text' ? help.text : '') ?? [];
      for (const [, example = ''] of examples.matchAll(/^ +(?:echo .* \| )?tierclaw (.*?)(?: {2,}.*)?$/gm)) {
        const line = [...example.matchAll(/'([^']*)'|(\S+)/g)].map(([, text, word]) => text ?? word ?? '');
        expect(await parseCommandLine(line), example).toMatchObject({ kind: 'run' });
      }
    }
  });

  test('no command at all is answered by the help, as a usage error', async () => {
    expect(await parseCommandLine([])).toMatchObject({
      kind: 'text',
      status: 2,
      text: expect.stringContaining('Usage'),
    });
  });
});

describe('the process', () => {
  test('prints the version', async () => {
    expect(await tierclaw(['--version'])).toEqual({ out: `${packageVersion()}\n`, err: '', status: 0 });
  });

  test('works on the home that the environment names, and on another where it is told to', async () => {
    const other = join(directory, 'other');
    expect((await tierclaw(['init', '--json'])).out).toContain(`"home": "${home}"`);
    expect((await tierclaw(['init', '--json', '--home', other])).out).toContain(`"home": "${other}"`);
  });

  test('prints an error and a hint on stderr and nothing on stdout', async () => {
    const { out, err, status } = await tierclaw(['status', '--home', join(directory, 'empty')]);
    expect(out).toBe('');
    expect(err).toBe(
      `error: no supervisor is running for the home ${join(directory, 'empty')}\nhint: tierclaw --home ${join(directory, 'empty')} up --detach\n`,
    );
    expect(status).toBe(8);
  });

  test('prints an error as JSON on stdout with --json', async () => {
    const { out, err, status } = await tierclaw(['status', '--json', '--home', join(directory, 'empty')]);
    expect(JSON.parse(out)).toEqual({
      error: {
        code: 'not-running',
        message: expect.any(String),
        hint: `tierclaw --home ${join(directory, 'empty')} up --detach`,
      },
    });
    expect(err).toBe('');
    expect(status).toBe(8);
  });

  test('answers a command line that it can’t parse in the form it asked for', async () => {
    const { out, status } = await tierclaw(['statsu', '--json']);
    expect(JSON.parse(out)).toMatchObject({ error: { code: 'usage' } });
    expect(status).toBe(2);
  });

  test('down where nothing runs says so and is content', async () => {
    const { out, status } = await tierclaw(['down']);
    expect(out).toMatch(/^no supervisor is running for the home /);
    expect(status).toBe(0);
  });

  test('a configuration with an unknown key is refused with file, line and hint', async () => {
    const broken = join(directory, 'broken');
    await tierclaw(['init', '--home', broken]);
    await writeFile(join(broken, 'tierclaw.yaml'), 'provider: rehearsal\ngroups: []\n');
    const { err, status } = await tierclaw(['plan', 'lobby', '--home', broken]);
    expect(err).toContain(`${join(broken, 'tierclaw.yaml')}:2: groups: unknown key`);
    expect(err).toContain(`hint: groups are registered with: tierclaw --home ${broken} groups register`);
    expect(status).toBe(EXIT_STATUS.config);
  });
});
