import { execFileSync } from 'node:child_process';
import {
  linkSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Bounds, type Measured, measureTree } from '../../src/files/measure.ts';

const MIB = 1024 * 1024;
const OWN_UID = process.getuid?.() ?? 0;

let ground: string;
let tree: string;
beforeEach(async () => {
  ground = await mkdtemp(join(tmpdir(), 'tierclaw-measure-'));
  tree = join(ground, 'tree');
  mkdirSync(tree);
});
afterEach(() => rm(ground, { recursive: true, force: true }));

const start = (bounds: Partial<Bounds> = {}) => measureTree(tree, { bytes: null, files: null, ...bounds }, OWN_UID);

const finish = (walk: Generator<void, Measured>): Measured => {
  let step = walk.next();
  while (step.done !== true) step = walk.next();
  return step.value;
};

const measured = (bounds: Partial<Bounds> = {}): Measured => finish(start(bounds));

const openDescriptors = (): number => readdirSync('/proc/self/fd').length;

const fill = (name: string, bytes: number): string => {
  const path = join(ground, name);
  writeFileSync(path, Buffer.alloc(bytes, 1));
  return path;
};

const python = (script: string): void => void execFileSync('python3', ['-c', script], { cwd: tree });

describe('measuring a tree', () => {
  it('counts what it takes up on disk, and every entry', () => {
    mkdirSync(join(tree, 'a'));
    fill('tree/a/x', 3 * MIB);
    fill('tree/y', 100);
    const { bytes, files, walk, closed } = measured();
    expect({ files, walk, closed }).toEqual({ files: 3, walk: 'whole', closed: 0 });
    expect(bytes).toBeGreaterThanOrEqual(3 * MIB);
    expect(bytes).toBeLessThan(3 * MIB + 64 * 1024);
  });

  it('counts a file with several names once, and a sparse one with what it takes up', () => {
    fill('tree/a', 2 * MIB);
    for (const name of ['b', 'c', 'd']) linkSync(join(tree, 'a'), join(tree, name));
    writeFileSync(join(tree, 'sparse'), '');
    truncateSync(join(tree, 'sparse'), 1024 ** 4);
    const { bytes, files } = measured();
    expect(files).toBe(5);
    expect(bytes).toBeGreaterThanOrEqual(2 * MIB);
    expect(bytes).toBeLessThan(3 * MIB);
  });

  it('follows no link, opens no FIFO, and minds no name', () => {
    mkdirSync(join(ground, 'outside'));
    fill('outside/big', 5 * MIB);
    symlinkSync(join(ground, 'outside'), join(tree, 'link'));
    symlinkSync('/', join(tree, 'root'));
    python(
      'import os\nos.mkfifo("fifo")\nos.mkdir(b"d\\xff\\xfe")\nopen(b"d\\xff\\xfe/\\xc3\\x28","wb").write(b"x"*2**20)',
    );
    const { bytes, files, walk } = measured();
    expect({ files, walk }).toEqual({ files: 5, walk: 'whole' });
    expect(bytes).toBeGreaterThanOrEqual(MIB);
    expect(bytes).toBeLessThan(2 * MIB);
  });

  it('finds what lies deeper than any path can name, with a bounded number of descriptors', () => {
    python(
      'import os\nfor i in range(1500):\n os.mkdir("deeper"); os.chdir("deeper")\nopen("x","wb").write(b"x"*2**20)',
    );
    const before = openDescriptors();
    const walk = start();
    let most = 0;
    let step = walk.next();
    for (let at = 0; step.done !== true; step = walk.next(), at += 1) {
      if (at % 25 === 0) most = Math.max(most, openDescriptors() - before);
    }
    expect(step.value).toMatchObject({ files: 1501, walk: 'whole' });
    expect(step.value.bytes).toBeGreaterThan(MIB);
    expect(most).toBeLessThan(50);
    expect(openDescriptors()).toBe(before);
    execFileSync('rm', ['-rf', tree]);
  });

  it('stops where it knows enough', () => {
    python('for i in range(5000): open("f%d" % i, "w").close()');
    const few = measured({ files: 1000 });
    expect(few.walk).toBe('beyond');
    expect(few.files).toBe(1001);
    fill('tree/big', 8 * MIB);
    expect(measured({ bytes: MIB }).walk).toBe('beyond');
  });

  it('is not led outside by a directory that is swapped for a link meanwhile', () => {
    mkdirSync(join(ground, 'outside'));
    fill('outside/big', 5 * MIB);
    for (let at = 0; at < 200; at += 1) mkdirSync(join(tree, `d${at}`));
    const walk = start();
    walk.next();
    for (const name of readdirSync(tree)) {
      rmSync(join(tree, name), { recursive: true });
      symlinkSync(join(ground, 'outside'), join(tree, name));
    }
    const { bytes } = finish(walk);
    expect(bytes).toBeLessThan(5 * MIB);
  });

  it('goes on where things vanish, and says so where it loses its way', () => {
    python('import os\nfor i in range(60):\n os.mkdir("in"); os.chdir("in")\nos.chdir("/")');
    mkdirSync(join(ground, 'elsewhere'));
    const before = openDescriptors();
    const walk = start();
    for (let at = 0; at < 55; at += 1) walk.next();
    const upper = join(tree, ...Array.from({ length: 20 }, () => 'in'));
    renameSync(upper, join(ground, 'elsewhere', 'in'));
    expect(finish(walk).walk).toBe('lost');
    expect(openDescriptors()).toBe(before);
    rmSync(tree, { recursive: true });
    expect(measured()).toEqual({ bytes: 0, files: 0, walk: 'whole', closed: 0 });
  });

  it('gives its descriptors back when it is ended early', () => {
    mkdirSync(join(tree, 'a', 'b', 'c'), { recursive: true });
    const before = openDescriptors();
    const walk = start();
    walk.next();
    walk.return({ bytes: 0, files: 0, walk: 'lost', closed: 0 });
    expect(openDescriptors()).toBe(before);
  });

  it('gives way within a large directory', () => {
    python('for i in range(2000): open("f%d" % i, "w").close()');
    const walk = start();
    let steps = 0;
    while (walk.next().done !== true) steps += 1;
    expect(steps).toBeGreaterThan(20);
  });
});
