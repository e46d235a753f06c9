import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readCommand } from '../../src/secrets/command.ts';
import { temporaryDirectory } from '../gateway/setup.ts';

const run = (command: string[], timeoutSeconds = 5) => readCommand('KEY', { command, timeoutSeconds });
const shell = (script: string, timeoutSeconds?: number) => run(['sh', '-c', script], timeoutSeconds);

const isAlive = async (pid: string): Promise<boolean> => {
  if (!existsSync(`/proc/${pid}/stat`)) return false;
  return !/\) Z /.test(await readFile(`/proc/${pid}/stat`, 'utf8'));
};

describe('a secret’s command', () => {
  it.each([
    ['printf value1', 'value1'],
    ['echo value1', 'value1'],
    ['printf "value1\\r\\n"', 'value1'],
    ['printf "a\\nb\\n\\n"', 'a\nb\n'],
  ])('gives what it prints, without the last line break: %s', async (script, expected) => {
    expect(await shell(script)).toBe(expected);
  });

  it('gets its arguments as they are, and no shell', async () => {
    expect(await run(['printf', '%s', '$HOME; `id` "x"'])).toBe('$HOME; `id` "x"');
  });

  it('knows nothing of the supervisor’s environment', async () => {
    process.env.TEST_FOREIGN_VARIABLE = 'foreign';
    const names = (await run(['env'])).split('\n').map((line) => line.split('=')[0]);
    delete process.env.TEST_FOREIGN_VARIABLE;
    expect(names.sort()).toEqual(['HOME', 'LANG', 'LOGNAME', 'PATH', 'USER']);
  });

  it.each([
    ['ended badly', 'echo topsecret; echo topsecret >&2; exit 3', 'ended with exit status 3'],
    ['printed nothing', 'exit 0', 'printed nothing'],
    ['printed too much', 'yes topsecret', 'printed more than 65536 bytes'],
    ['printed no text', 'printf "topsecret\\377"', 'no text'],
    ['printed a NUL', 'printf "topsecret\\000"', 'no text'],
    ['was killed', 'echo topsecret; kill -9 $$', 'SIGKILL'],
  ])('that %s is an error with the secret’s name and without the output', async (_, script, words) => {
    const failure = shell(script);
    await expect(failure).rejects.toMatchObject({ code: 'config' });
    await expect(failure).rejects.toThrow(`the secret KEY: its command (sh)`);
    await expect(failure).rejects.toThrow(words);
    await expect(failure).rejects.not.toThrow('topsecret');
  });

  it('that isn’t there says so', async () => {
    await expect(run(['/nonexistent/pass', 'show', 'x'])).rejects.toThrow('is not there');
  });

  it.each([
    ['hangs', 'sleep 600'],
    ['ignores TERM', 'trap "" TERM; while :; do sleep 1; done'],
    ['leaves a child with its output', 'sleep 600 & echo topsecret'],
  ])('that %s is ended with all of its group', async (_, script) => {
    const place = join(await temporaryDirectory(), 'pid');
    await expect(shell(`echo $$ > ${place}; ${script}`, 0.5)).rejects.toThrow(
      'did not end within 0.5 s and was stopped',
    );
    const pid = (await readFile(place, 'utf8')).trim();
    await expect.poll(() => isAlive(pid)).toBe(false);
  });

  it('that gives its secret leaves none of its group behind', async () => {
    const pid = await shell('sleep 600 >/dev/null 2>&1 & echo $!');
    await expect.poll(() => isAlive(pid)).toBe(false);
  });

  it('whose output a process of another group holds is let go', async () => {
    const place = join(await temporaryDirectory(), 'pid');
    const script = `setsid sh -c 'echo $$ > ${place}; while echo more; do sleep 0.1; done' & echo topsecret`;
    await expect(shell(script, 0.5)).rejects.toThrow('did not end within 0.5 s and was stopped');
    const pid = (await readFile(place, 'utf8')).trim();
    // It hears of the closed pipe at its next word.
    await expect.poll(() => isAlive(pid), { timeout: 5_000 }).toBe(false);
  });
});
