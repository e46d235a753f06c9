import { chmod, lstat, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Ipc } from '../../container/runner/ipc.ts';
import { makeTools } from '../../container/runner/tools/index.ts';
import { explained, FILE_BYTES_MAX } from '../../container/runner/tools/regular-file.ts';

describe('the file tools', () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'tierclaw-files-'));
  });
  afterEach(() => rm(directory, { recursive: true, force: true }));

  type FileTool = 'file_read' | 'file_write' | 'file_edit';
  const run = async (name: FileTool, input: unknown, toolOutputBytes = 10_000): Promise<string> => {
    const [tool] = makeTools([name], {
      directory,
      environment: {},
      limits: { commandMs: 1000, toolOutputBytes },
      ipc: new Ipc({ directory }),
      web: { proxyPort: 1, program: '/nowhere' },
    });
    return (await tool?.run(input, { id: 'c1', signal: new AbortController().signal })) ?? '';
  };
  const here = (name: string): string => join(directory, name);

  it('read a file as it is, and lines of it with their place', async () => {
    await writeFile(here('a.txt'), 'one\ntwo\nthree\n');
    expect(await run('file_read', { path: 'a.txt' })).toBe('one\ntwo\nthree');
    expect(await run('file_read', { path: here('a.txt'), offset: 2, limit: 1 })).toBe('two\n[lines 2–2 of 3]');
    expect(await run('file_read', { path: 'a.txt', offset: 9 })).toBe('[the file has 3 lines]');
    await writeFile(here('empty'), '');
    expect(await run('file_read', { path: 'empty' })).toBe('[the file is empty]');
  });

  it('read no more than one answer may hold, and say where to go on', async () => {
    await writeFile(here('long.txt'), 'x'.repeat(49).concat('\n').repeat(100));
    const output = await run('file_read', { path: 'long.txt' }, 1100);
    expect(output).toMatch(/\n\[lines 1–20 of 100\]$/);
    await writeFile(here('line.txt'), 'y'.repeat(5000));
    expect(Buffer.byteLength(await run('file_read', { path: 'line.txt' }, 1100))).toBeLessThanOrEqual(1100);
  });

  it('write whole files at once, make directories, keep the mode and write through a link', async () => {
    await run('file_write', { path: 'deep/er/a.txt', content: 'é' });
    expect(await readFile(here('deep/er/a.txt'), 'utf8')).toBe('é');
    await chmod(here('deep/er/a.txt'), 0o750);
    await symlink(here('deep/er/a.txt'), here('link'));
    expect(await run('file_write', { path: 'link', content: 'new' })).toBe('Wrote 3 bytes to link.');
    expect((await lstat(here('link'))).isSymbolicLink()).toBe(true);
    expect(await readFile(here('deep/er/a.txt'), 'utf8')).toBe('new');
    expect((await stat(here('deep/er/a.txt'))).mode & 0o777).toBe(0o750);
    expect(await readdir(here('deep/er'))).toEqual(['a.txt']);
  });

  it('edit the only occurrence, taken literally', async () => {
    await writeFile(here('a.txt'), 'a $& b\na c\n');
    expect(await run('file_edit', { path: 'a.txt', old_text: '$& b', new_text: '$1 $$ d' })).toBe('Edited a.txt.');
    expect(await readFile(here('a.txt'), 'utf8')).toBe('a $1 $$ d\na c\n');
  });

  it.each([
    ['nowhere', /does not occur/],
    ['a', /occurs 2 times/],
  ])('refuse to edit %s and leave the file alone', async (old, reason) => {
    await writeFile(here('a.txt'), 'a a');
    await expect(run('file_edit', { path: 'a.txt', old_text: old, new_text: 'x' })).rejects.toThrow(reason);
    expect(await readFile(here('a.txt'), 'utf8')).toBe('a a');
  });

  it.each<[FileTool, object, RegExp]>([
    ['file_read', { path: 'nothing' }, /^nothing does not exist\.$/],
    ['file_read', { path: 'sub' }, /^sub is a directory\.$/],
    ['file_read', { path: 'fifo' }, /^fifo is not a regular file\.$/],
    ['file_read', { path: '/proc/self/environ' }, /place of the kernel/],
    ['file_read', { path: '../../../../../../dev/zero' }, /place of the kernel/],
    ['file_read', { path: 'device' }, /place of the kernel/],
    ['file_read', { path: 'binary' }, /^binary is not a text file\.$/],
    ['file_read', { path: 'large' }, /large has \d+ bytes; \d+ can be read/],
    ['file_read', { path: 'loop' }, /leads through too many links/],
    ['file_read', { path: 'a\0b' }, /NUL/],
    ['file_read', { path: 'binary/x' }, /lies below something that is not a directory/],
    ['file_write', { path: 'sub', content: '' }, /^sub is a directory\.$/],
    ['file_write', { path: 'fifo', content: '' }, /^fifo is not a regular file\.$/],
    ['file_write', { path: 'device', content: '' }, /place of the kernel/],
    ['file_write', { path: 'x', content: 'x'.repeat(FILE_BYTES_MAX + 1) }, /bytes are allowed|are allowed/],
    ['file_edit', { path: 'binary', old_text: 'a', new_text: 'b' }, /not UTF-8 text/],
  ])('%s of %j says what is wrong', async (name, input, reason) => {
    await mkdir(here('sub'));
    await execa('mkfifo', [here('fifo')]);
    await symlink('/dev/zero', here('device'));
    await symlink('loop', here('loop'));
    await writeFile(here('binary'), Buffer.from([0xff, 0x00, 0x61]));
    await execa('truncate', ['-s', '100M', here('large')]);
    await expect(run(name, input)).rejects.toThrow(reason);
  });

  it('name a read-only place as such', async () => {
    const readOnly = (): Promise<never> => Promise.reject(Object.assign(new Error('x'), { code: 'EROFS' }));
    await expect(explained('notes.md', readOnly)).rejects.toThrow('notes.md is read-only in this chat.');
  });
});
