/** The host's own directories are made without following links and thrown away without touching what links lead to. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { discardTree, discardTrees, emptyTrash, makeOwnedDirectory, removeTree } from '../../src/files/tree.ts';

const UID = 12_345;
let base = '';

beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'tree-'));
});

afterEach(() => rmSync(base, { recursive: true, force: true }));

const ownership = (path: string) => {
  const { mode, uid, gid } = statSync(path);
  return [mode & 0o777, uid, gid];
};

describe('making a directory', () => {
  it('sets mode and owner, of new and of existing ones', async () => {
    const path = join(base, 'parent', 'own');
    await makeOwnedDirectory(path, { uid: UID, mode: 0o775 });
    expect(ownership(path)).toEqual([0o775, UID, UID]);
    await makeOwnedDirectory(path, { mode: 0o700 });
    expect(ownership(path)[0]).toBe(0o700);
  });

  it.each<[string, (path: string, target: string) => void]>([
    ['a link', (path, target) => symlinkSync(target, path)],
    ['a dangling link', (path) => symlinkSync('/nowhere/at/all', path)],
    ['a file', (path) => writeFileSync(path, '')],
  ])('refuses %s in its place and changes no owner', async (_title, plant) => {
    const target = join(base, 'target');
    mkdirSync(target);
    const path = join(base, 'own');
    plant(path, target);
    await expect(makeOwnedDirectory(path, { uid: UID, mode: 0o777 })).rejects.toMatchObject({ code: 'refused' });
    expect(statSync(target).uid).toBe(0);
  });
});

/** Runs it with that effective user, as a supervisor that is not root; its child processes have it too. */
const asUser = async (uid: number, act: () => Promise<void>): Promise<void> => {
  process.seteuid?.(uid);
  try {
    await act();
  } finally {
    process.seteuid?.(0);
  }
};

describe('throwing a tree away', () => {
  const makeTree = (path: string): string => {
    const outside = join(base, 'outside');
    mkdirSync(outside, { recursive: true });
    writeFileSync(join(outside, 'kept'), '');
    mkdirSync(join(path, 'a', 'b'), { recursive: true });
    writeFileSync(join(path, 'a', 'b', '-rf'), '');
    symlinkSync(outside, join(path, 'a', 'link'));
    return outside;
  };

  it('is out of the way at once and gone in the end; what a link led to stays', async () => {
    const tree = join(base, '-tree');
    const trash = join(base, 'data', 'trash');
    const outside = makeTree(tree);
    const { deleted } = await discardTree(tree, trash);
    expect(existsSync(tree)).toBe(false);
    await deleted;
    expect(readdirSync(trash)).toEqual([]);
    expect(readdirSync(outside)).toEqual(['kept']);
  });

  it('throws a link away, not what it leads to', async () => {
    const outside = makeTree(join(base, 'tree'));
    symlinkSync(outside, join(base, 'link'));
    await (await discardTree(join(base, 'link'), join(base, 'trash'))).deleted;
    expect(readdirSync(outside)).toEqual(['kept']);
  });

  it('goes with others in one, each out of the way even where one can’t be', async () => {
    const trash = join(base, 'trash');
    const trees = ['x', 'y', 'nothing'].map((name) => join(base, name));
    for (const tree of trees.slice(0, 2)) makeTree(tree);
    await (await discardTrees(trees, trash)).deleted;
    expect([...trees.map(existsSync), readdirSync(trash)]).toEqual([false, false, false, []]);
    makeTree(join(base, 'x'));
    await expect(discardTrees(['/proc/self', join(base, 'x')], trash)).rejects.toThrow();
    expect(existsSync(join(base, 'x'))).toBe(false);
  });

  it('has no trouble with a tree that is not there, nor with equal names', async () => {
    const trash = join(base, 'trash');
    await (await discardTree(join(base, 'nothing'), trash)).deleted;
    const trees = ['x', 'y'].map((parent) => join(base, parent, 'same'));
    for (const tree of trees) makeTree(tree);
    const discarded = await Promise.all(trees.map((tree) => discardTree(tree, trash)));
    await Promise.all(discarded.map(({ deleted }) => deleted));
    expect(trees.some(existsSync)).toBe(false);
  });

  it('empties what an earlier process left', async () => {
    const trash = join(base, 'trash');
    makeTree(join(trash, 'left'));
    await emptyTrash(trash);
    expect(readdirSync(trash)).toEqual([]);
    expect(readdirSync(base).sort()).toEqual(['outside', 'trash']);
  });

  it('empties it although the owner may not enter what a container left, when the supervisor is not root', async () => {
    const trash = join(base, 'trash');
    const outside = makeTree(join(trash, 'left'));
    execFileSync('chown', ['-R', `${UID}:${UID}`, base]);
    execFileSync('chmod', ['000', join(trash, 'left', 'a')]);
    const before = statSync(outside).mode;
    await asUser(UID, () => emptyTrash(trash));
    expect(readdirSync(trash)).toEqual([]);
    expect(statSync(outside).mode).toBe(before);
  });

  it('leaves nothing beside the trash, even if it ends half-way', async () => {
    const trash = join(base, 'trash');
    mkdirSync(join(trash, 'left'), { recursive: true });
    const emptied = emptyTrash(trash);
    const watched: string[][] = [];
    while (existsSync(join(trash, 'left'))) {
      watched.push(readdirSync(base));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await emptied;
    expect(watched.flat().filter((name) => name !== 'trash')).toEqual([]);
  });

  it('names the tree that could not be deleted', async () => {
    await expect(removeTree('/proc/self/status')).rejects.toThrow('/proc/self/status');
  });
});
