import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { commandEnvironment } from '../../container/runner/environment.ts';
import { Ipc } from '../../container/runner/ipc.ts';
import { bash } from '../../container/runner/tools/bash.ts';

/** A deadline for a busy machine, not an expectation. */
const eventually = <T>(look: () => T) => expect.poll(look, { timeout: 10_000 });

describe('the bash tool', () => {
  let directory: string;
  beforeAll(async () => {
    directory = await realpath(await mkdtemp(join(tmpdir(), 'tierclaw-bash-')));
  });
  afterAll(() => rm(directory, { recursive: true, force: true }));

  interface Options {
    readonly commandMs?: number;
    readonly toolOutputBytes?: number;
    readonly signal?: AbortSignal;
  }
  const run = (command: string, options: Options = {}): Promise<string> => {
    const tool = bash({
      directory,
      environment: commandEnvironment({ TZ: 'UTC' }, { home: directory, relayPort: 8118 }),
      limits: { commandMs: options.commandMs ?? 10_000, toolOutputBytes: options.toolOutputBytes ?? 10_000 },
      ipc: new Ipc({ directory }),
      web: { proxyPort: 1, program: '/nowhere' },
    });
    return tool.run({ command }, { id: 'c1', signal: options.signal ?? new AbortController().signal });
  };
  const survivors = async (mark: string): Promise<string> =>
    (await execa('pgrep', ['-f', mark], { reject: false })).stdout;

  it.each([
    ['echo out; echo err >&2; echo out', 'out\nerr\nout\n[exit code: 0]'],
    ['printf no-newline; exit 3', 'no-newline\n[exit code: 3]'],
    ['true', '[exit code: 0]'],
    ['no-such-command', 'bash: line 1: no-such-command: command not found\n[exit code: 127]'],
    ['echo "$0 $# $1"', 'bash 0 \n[exit code: 0]'],
    ['kill -9 $$', '[killed by signal SIGKILL]'],
    ['cat', '[exit code: 0]'],
    ['for i in 1 2 3\ndo echo $i\ndone', '1\n2\n3\n[exit code: 0]'],
  ])('answers %j with %j', async (command, expected) => {
    expect(await run(command)).toBe(expected);
  });

  it('has the named environment credentials and nothing else of the container’s; none takes another’s place', () => {
    const own = { API_KEY: 'k', OTHER: 'o', HOME: '/root', HTTPS_PROXY: 'evil' };
    const credentials = ['API_KEY', 'MISSING', 'HOME', 'HTTPS_PROXY'];
    const environment = commandEnvironment(own, { home: '/tmp/home', relayPort: 1, credentials });
    expect(environment).toMatchObject({ API_KEY: 'k', HOME: '/tmp/home', HTTPS_PROXY: 'http://127.0.0.1:1' });
    expect(Object.keys(environment)).not.toEqual(expect.arrayContaining(['OTHER']));
    expect('MISSING' in environment).toBe(false);
  });

  it('works in the group directory with an environment of its own', async () => {
    const output = await run('pwd; env | grep -v SHLVL | sort');
    expect(output).toBe(
      `${[
        directory,
        `HOME=${directory}`,
        'HTTPS_PROXY=http://127.0.0.1:8118',
        'HTTP_PROXY=http://127.0.0.1:8118',
        'LANG=C.UTF-8',
        'NODE_USE_ENV_PROXY=1',
        'NO_PROXY=localhost,127.0.0.1,::1',
        'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
        `PWD=${directory}`,
        'TZ=UTC',
        '_=/usr/bin/env',
        'http_proxy=http://127.0.0.1:8118',
        'https_proxy=http://127.0.0.1:8118',
        'no_proxy=localhost,127.0.0.1,::1',
      ].join('\n')}\n[exit code: 0]`,
    );
  });

  it('keeps beginning and end of a large output', async () => {
    const output = await run('seq 1 100000', { toolOutputBytes: 100 });
    expect(output).toMatch(/^1\n2\n3\n[\s\S]*\n… 588795 bytes left out …\n[\s\S]*\n99999\n100000\n\[exit code: 0\]$/);
  });

  it('kills the whole group when time is up, also what ignores TERM', async () => {
    const output = await run("trap '' TERM; (trap '' TERM; sleep 61.25) & echo begun; sleep 61.25", { commandMs: 200 });
    expect(output).toBe('begun\n[timed out after 0.2 s]');
    await eventually(() => survivors('sleep 61.25')).toBe('');
  });

  it('kills the whole group when aborted', async () => {
    const stop = new AbortController();
    const running = run('sleep 62.25 & sleep 62.25', { signal: stop.signal });
    await eventually(() => survivors('sleep 62.25')).not.toBe('');
    stop.abort(new Error('stopped'));
    await expect(running).rejects.toThrow('stopped');
    await eventually(() => survivors('sleep 62.25')).toBe('');
  });

  it('does not wait for what was left in the background', async () => {
    expect(await run('sleep 3.25 & echo done', { commandMs: 2500 })).toBe('done\n[exit code: 0]');
  });

  it.each([
    ['x'.repeat(200_000), /200000 bytes; 131071 are allowed/],
    ['echo \0', /NUL/],
  ])('refuses what no shell could take', async (command, reason) => {
    await expect(run(command)).rejects.toThrow(reason);
  });
});
