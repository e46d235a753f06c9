/** Whatever a container plants or swaps in its directories, the host stays inside and never waits. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Directory, openDirectory } from '../../src/files/beneath.ts';

const UID = 12_345;
let base = '';
let root = '';
let outside = '';
let directory: Directory;

beforeEach(async () => {
  base = mkdtempSync(join(tmpdir(), 'beneath-'));
  root = join(base, 'root');
  outside = join(base, 'outside');
  mkdirSync(join(root, 'sub'), { recursive: true });
  mkdirSync(outside);
  writeFileSync(join(outside, 'secret'), 'SECRET');
  writeFileSync(join(root, 'plain'), 'plain text');
  writeFileSync(join(root, 'sub', 'deep'), 'deep text');
  directory = await openDirectory(root);
});

afterEach(async () => {
  await directory.close();
  rmSync(base, { recursive: true, force: true });
});

const inRoot = (name: string) => join(root, name);
const openDescriptors = () => readdirSync('/proc/self/fd').length;

describe('reading beneath a directory', () => {
  it('reads regular files, also deeper down', async () => {
    expect(await directory.readFile(['plain'], 100)).toEqual({ ok: true, value: Buffer.from('plain text') });
    expect(await directory.readFile(['sub', 'deep'], 100)).toMatchObject({ ok: true, value: Buffer.from('deep text') });
  });

  it.each([
    [[]],
    [['']],
    [['.']],
    [['..']],
    [['..', 'outside', 'secret']],
    [['sub', '..', 'plain']],
    [['sub/deep']],
    [['../outside/secret']],
    [['plain\0']],
    [['n'.repeat(256)]],
    [Array.from({ length: 100 }, () => 'sub')],
  ])('refuses the name %j', async (names) => {
    expect(await directory.readFile(names, 100)).toMatchObject({ ok: false, reason: 'name' });
  });

  it.each<[string, string, () => unknown]>([
    ['a link to a file outside', 'link', () => symlinkSync(join(outside, 'secret'), inRoot('x'))],
    ['a link to a file inside', 'link', () => symlinkSync('plain', inRoot('x'))],
    ['a link to an endless device', 'link', () => symlinkSync('/dev/zero', inRoot('x'))],
    ['a dangling link', 'link', () => symlinkSync('/nowhere', inRoot('x'))],
    ['a FIFO', 'special', () => execFileSync('mkfifo', [inRoot('x')])],
    ['a device', 'special', () => execFileSync('mknod', [inRoot('x'), 'c', '1', '5'])],
    ['a directory', 'directory', () => mkdirSync(inRoot('x'))],
    ['a hard link', 'hard-link', () => linkSync(join(outside, 'secret'), inRoot('x'))],
    ['a file over the bound', 'too-large', () => writeFileSync(inRoot('x'), 'y'.repeat(101))],
    ['nothing', 'missing', () => undefined],
  ])('refuses %s as %s', async (_title, reason, plant) => {
    plant();
    expect(await directory.readFile(['x'], 100)).toMatchObject({ ok: false, reason });
    expect(await directory.openFile(['x'], 100)).toMatchObject({ ok: false, reason });
  });

  it('refuses a socket', async () => {
    const server = createServer().listen(inRoot('x'));
    await once(server, 'listening');
    expect(await directory.readFile(['x'], 100)).toMatchObject({ ok: false, reason: 'special' });
    await new Promise((resolve) => server.close(resolve));
  });

  it('refuses a huge sparse file without reading it', async () => {
    writeFileSync(inRoot('x'), '');
    truncateSync(inRoot('x'), 5 * 1024 ** 3);
    expect(await directory.readFile(['x'], 1024)).toMatchObject({ ok: false, reason: 'too-large' });
  });

  it.each([0, 1, 16_383, 16_384, 16_385, 32_768, 300_000])(
    'reads all of %d bytes, and no more than are allowed',
    async (size) => {
      const content = Buffer.from(Uint8Array.from({ length: size }, (_, at) => at % 251));
      writeFileSync(inRoot('x'), content);
      const read = await directory.readFile(['x'], size);
      expect(read.ok && read.value.equals(content)).toBe(true);
      if (size > 0) expect(await directory.readFile(['x'], size - 1)).toMatchObject({ ok: false, reason: 'too-large' });
    },
  );

  it('refuses a FIFO that somebody writes to, without waiting', async () => {
    execFileSync('mkfifo', [inRoot('x')]);
    const both = openSync(inRoot('x'), 'r+');
    writeSync(both, 'x');
    expect(await directory.readFile(['x'], 100)).toMatchObject({ ok: false, reason: 'special' });
    closeSync(both);
  });

  it('follows no link on the way', async () => {
    symlinkSync(outside, inRoot('out'));
    symlinkSync('sub', inRoot('in'));
    expect(await directory.readFile(['out', 'secret'], 100)).toMatchObject({ ok: false, reason: 'not-a-directory' });
    expect(await directory.readFile(['in', 'deep'], 100)).toMatchObject({ ok: false, reason: 'not-a-directory' });
    expect(await directory.openDirectory(['out'])).toMatchObject({ ok: false, reason: 'not-a-directory' });
    expect(await directory.readFile(['plain', 'x'], 100)).toMatchObject({ ok: false, reason: 'not-a-directory' });
  });

  it('stays on the directory that it opened when another takes its path', async () => {
    renameSync(root, join(base, 'moved'));
    symlinkSync(outside, root);
    expect(await directory.readFile(['secret'], 100)).toMatchObject({ ok: false, reason: 'missing' });
    expect(await directory.readFile(['plain'], 100)).toMatchObject({ ok: true });
  });

  it('gives back every descriptor, refused or not', async () => {
    symlinkSync(outside, inRoot('out'));
    execFileSync('mkfifo', [inRoot('pipe')]);
    const before = openDescriptors();
    for (const names of [['plain'], ['sub', 'deep'], ['out', 'secret'], ['pipe'], ['sub', 'nothing'], ['sub']]) {
      await directory.readFile(names, 5);
      await directory.readFile(names, 500);
    }
    await directory.list(1);
    await directory.makeDirectory('plain', { mode: 0o755 });
    expect(openDescriptors()).toBe(before);
  });

  it('lists up to the bound and says when there is more', async () => {
    for (let n = 0; n < 600; n += 1) writeFileSync(inRoot(`f${n}`), '');
    expect((await directory.list(602)).overflow).toBe(false);
    const { names, overflow } = await directory.list(601);
    expect([names.length, overflow]).toEqual([601, true]);
  });

  it('refuses a root that is a link, a file or not there', async () => {
    symlinkSync(root, join(base, 'link'));
    for (const path of [join(base, 'link'), inRoot('plain'), join(base, 'nothing')]) {
      await expect(openDirectory(path)).rejects.toMatchObject({
        code: 'refused',
        message: expect.stringContaining(path),
      });
    }
  });
});

describe('changing things beneath a directory', () => {
  it('writes a file with exactly that mode and owner and leaves no temporary file', async () => {
    expect(await directory.writeFile('new', 'text', { mode: 0o664, uid: UID })).toMatchObject({ ok: true });
    const stats = statSync(inRoot('new'));
    expect([stats.mode & 0o777, stats.uid, stats.gid]).toEqual([0o664, UID, UID]);
    expect(readdirSync(root).sort()).toEqual(['new', 'plain', 'sub']);
  });

  it('replaces a planted link and a planted hard link, and leaves what they led to alone', async () => {
    symlinkSync(join(outside, 'secret'), inRoot('a'));
    linkSync(join(outside, 'secret'), inRoot('b'));
    for (const name of ['a', 'b']) await directory.writeFile(name, 'text', { mode: 0o600, uid: UID });
    expect(readFileSync(inRoot('a'), 'utf8')).toBe('text');
    expect(readFileSync(join(outside, 'secret'), 'utf8')).toBe('SECRET');
    expect(statSync(join(outside, 'secret')).uid).toBe(0);
  });

  it('refuses to write over a directory and cleans up', async () => {
    expect(await directory.writeFile('sub', 'text', { mode: 0o600 })).toMatchObject({ ok: false, reason: 'directory' });
    expect(readdirSync(root).sort()).toEqual(['plain', 'sub']);
  });

  it('makes directories and takes existing real ones', async () => {
    for (const name of ['fresh', 'sub']) {
      const made = await directory.makeDirectory(name, { mode: 0o770, uid: UID });
      if (!made.ok) throw new Error(made.detail);
      await made.value.close();
      const stats = statSync(inRoot(name));
      expect([stats.mode & 0o777, stats.uid, stats.gid]).toEqual([0o770, UID, UID]);
    }
  });

  it.each<[string, (path: string) => void]>([
    ['a link to a directory', (path) => symlinkSync(outside, path)],
    ['a dangling link', (path) => symlinkSync(join(base, 'made-through-link'), path)],
    ['a file', (path) => writeFileSync(path, '')],
  ])('refuses %s where a directory should be, and touches nothing', async (_title, plant) => {
    plant(inRoot('x'));
    expect(await directory.makeDirectory('x', { mode: 0o777, uid: UID })).toMatchObject({ ok: false });
    expect(statSync(outside).uid).toBe(0);
    expect(existsSync(join(base, 'made-through-link'))).toBe(false);
  });

  it('moves entries of any type as they are', async () => {
    symlinkSync(join(outside, 'secret'), inRoot('link'));
    const target = await openDirectory(outside);
    for (const name of ['link', 'sub', 'plain']) {
      expect(await directory.move(name, target, `kept-${name}`)).toMatchObject({ ok: true });
    }
    expect(readdirSync(root)).toEqual([]);
    expect(readlinkSync(join(outside, 'kept-link'))).toBe(join(outside, 'secret'));
    await target.close();
  });

  it('removes a link itself, and no directory', async () => {
    symlinkSync(outside, inRoot('link'));
    expect(await directory.remove('link')).toMatchObject({ ok: true });
    expect(await directory.remove('sub')).toMatchObject({ ok: false, reason: 'directory' });
    expect(await directory.removeDirectory('sub')).toMatchObject({ ok: false, reason: 'not-empty' });
    expect(existsSync(join(outside, 'secret'))).toBe(true);
  });

  it.each(['..', 'a/b', ''])('refuses the name %j for every change', async (name) => {
    const refused = { ok: false, reason: 'name' };
    expect(await directory.writeFile(name, '', { mode: 0o600 })).toMatchObject(refused);
    expect(await directory.makeDirectory(name, { mode: 0o700 })).toMatchObject(refused);
    expect(await directory.move(name, directory, 'x')).toMatchObject(refused);
    expect(await directory.move('plain', directory, name)).toMatchObject(refused);
    expect(await directory.remove(name)).toMatchObject(refused);
    expect(await directory.removeDirectory(name)).toMatchObject(refused);
  });

  it('finishes what is under way when it is closed, and then refuses', async () => {
    const reads = Array.from({ length: 20 }, () => directory.readFile(['sub', 'deep'], 100));
    await directory.close();
    expect((await Promise.all(reads)).every((read) => read.ok)).toBe(true);
    await expect(directory.readFile(['plain'], 100)).rejects.toThrow(/after it was closed/);
    await directory.close();
  });
});

/** Flips a directory and a file between the real thing and a link to the outside, as fast as it can. */
const FLIP = `
const { mkdirSync, renameSync, rmSync } = require('node:fs');
process.chdir(process.argv[1]);
process.stdout.write('ready');
const flip = (name) => {
  renameSync(name, name + '.real'); renameSync(name + '.link', name);
  renameSync(name, name + '.link'); renameSync(name + '.real', name);
};
// The host may have made a directory meanwhile, where a link was to come.
const mend = () => {
  try {
    rmSync('dir', { recursive: true, force: true });
    mkdirSync('dir.real', { recursive: true });
    renameSync('dir.real', 'dir');
  } catch {} // The host came in between again; the next round mends it.
};
for (;;) {
  try { flip('dir'); } catch { mend(); }
  flip('leaf');
}`;

const whileFlipping = async (ms: number, act: () => Promise<void>): Promise<void> => {
  mkdirSync(inRoot('dir'));
  writeFileSync(inRoot('dir/secret'), 'harmless');
  writeFileSync(inRoot('leaf'), 'harmless');
  symlinkSync(outside, inRoot('dir.link'));
  symlinkSync(join(outside, 'secret'), inRoot('leaf.link'));
  const flipper = spawn(process.execPath, ['-e', FLIP, root], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(flipper, 'exit');
  try {
    await once(flipper.stdout, 'data');
    const until = Date.now() + ms;
    while (Date.now() < until) await act();
    expect(flipper.exitCode).toBeNull();
  } finally {
    flipper.kill('SIGKILL');
    await ended;
  }
};

describe('a container that swaps things while the host looks', () => {
  it('leaks nothing through the walk, while a plain open does leak', async () => {
    const seen = { harmless: 0, refused: 0, leaked: 0 };
    let naiveLeaks = 0;
    await whileFlipping(2_000, async () => {
      for (const names of [['dir', 'secret'], ['leaf']]) {
        const read = await directory.readFile(names, 100);
        if (!read.ok) seen.refused += 1;
        else seen[read.value.toString() === 'harmless' ? 'harmless' : 'leaked'] += 1;
      }
      const naive = await readFile(inRoot('dir/secret'), 'utf8').catch(() => '');
      if (naive === 'SECRET') naiveLeaks += 1;
    });
    expect(seen.leaked).toBe(0);
    expect(seen.harmless).toBeGreaterThan(0);
    expect(seen.refused).toBeGreaterThan(0);
    expect(naiveLeaks).toBeGreaterThan(0);
  });

  it('writes, makes and owns nothing outside', async () => {
    let made = 0;
    await whileFlipping(1_000, async () => {
      const sub = await directory.makeDirectory('dir', { mode: 0o700, uid: UID });
      await directory.writeFile('leaf', 'x', { mode: 0o600, uid: UID });
      if (!sub.ok) return;
      made += 1;
      await sub.value.writeFile('planted', 'x', { mode: 0o600, uid: UID });
      await sub.value.close();
    });
    expect(made).toBeGreaterThan(0);
    expect(readdirSync(outside)).toEqual(['secret']);
    expect(readFileSync(join(outside, 'secret'), 'utf8')).toBe('SECRET');
    expect([lstatSync(outside).uid, lstatSync(join(outside, 'secret')).uid]).toEqual([0, 0]);
  });
});
