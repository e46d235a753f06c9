import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Ipc } from '../../container/runner/ipc.ts';
import { globArguments } from '../../container/runner/tools/glob.ts';
import { grepArguments } from '../../container/runner/tools/grep.ts';
import { makeTools } from '../../container/runner/tools/index.ts';

/** Says what it was asked and ends as ripgrep would; the real one is in the image and is tried there. */
const STAND_IN = `#!/bin/sh
case "$*" in
  *nothing*) exit 1 ;;
  *broken*) echo 'regex parse error' >&2; exit 2 ;;
  *) printf '%s\\n' "$@" ;;
esac
`;

describe('glob and grep', () => {
  let directory: string;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'tierclaw-search-'));
    await writeFile(join(directory, 'rg'), STAND_IN);
    await chmod(join(directory, 'rg'), 0o755);
  });
  afterAll(() => rm(directory, { recursive: true, force: true }));

  const run = async (name: 'glob' | 'grep', input: unknown, path = `${directory}:/usr/bin:/bin`): Promise<string> => {
    const [tool] = makeTools([name], {
      directory,
      environment: { PATH: path },
      limits: { commandMs: 5000, toolOutputBytes: 10_000 },
      ipc: new Ipc({ directory }),
      web: { proxyPort: 1, program: '/nowhere' },
    });
    return (await tool?.run(input, { id: 'c1', signal: new AbortController().signal })) ?? '';
  };

  it('hand the pattern over so that it can not be an option', async () => {
    expect(await run('grep', { pattern: '--pre=evil', path: '-x' })).toBe(
      `${grepArguments('--pre=evil', '-x').join('\n')}\n`,
    );
    expect(grepArguments('--pre=evil', '-x').slice(-3)).toEqual(['--regexp=--pre=evil', '--', '-x']);
    expect(await run('glob', { pattern: '-v' })).toBe(`${globArguments('-v').join('\n')}\n`);
    expect(globArguments('-v')).toContain('--glob=-v');
  });

  it.each<['glob' | 'grep', string]>([
    ['glob', 'No file matches.'],
    ['grep', 'No line matches.'],
  ])('%s says so when nothing was found', async (name, expected) => {
    expect(await run(name, { pattern: 'nothing' })).toBe(expected);
  });

  it.each<['glob' | 'grep', object, RegExp]>([
    ['grep', { pattern: 'broken' }, /regex parse error/],
    ['grep', { pattern: 'x', path: '/proc' }, /place of the kernel/],
    ['glob', { pattern: '!x' }, /can not start with/],
    ['glob', { pattern: 'x', path: 'not-there' }, /no such directory/],
  ])('%s %j fails with a reason', async (name, input, reason) => {
    await expect(run(name, input)).rejects.toThrow(reason);
  });

  it('say so when there is no ripgrep', async () => {
    await expect(run('grep', { pattern: 'x' }, '/nowhere')).rejects.toThrow(/no ripgrep/);
  });
});
