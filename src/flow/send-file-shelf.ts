/**
 * Where copies of sent files lie: host-only, a directory per asking group and in it one per file. Bounded per group,
 * oldest first out, so that a chat that sends without end pushes out nothing but its own.
 */
import { lstat, mkdir, readdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { GroupFolder } from '../domain/ids.ts';
import { isErrno } from '../errors.ts';
import { makeOwnedDirectory } from '../files/tree.ts';

export interface ShelfLimits {
  /** Of one group. */
  readonly files: number;
  readonly bytes: number;
}

export const SHELF_LIMITS: ShelfLimits = { files: 100, bytes: 500 * 1024 * 1024 };

export interface ShelfOptions {
  readonly directory: string;
  readonly limits: ShelfLimits;
  /** Sorts by time, as a ULID. */
  readonly newId: () => string;
}

export interface Shelf {
  /** The path of a file that isn't there yet, in a directory of its own, with room for that many bytes. */
  place(folder: GroupFolder, name: string, bytes: number): Promise<string>;
  /** Takes away a path that `place` gave, with its directory. One that is gone already is fine. */
  remove(path: string): Promise<void>;
}

interface Kept {
  readonly path: string;
  readonly bytes: number;
}

const sizeOf = async (directory: string): Promise<number> => {
  const names = await readdir(directory);
  const stats = await Promise.all(names.map((name) => lstat(join(directory, name))));
  return stats.reduce((sum, { size }) => sum + size, 0);
};

/** Another session of the group may take one away meanwhile. */
const sizeIfThere = async (directory: string): Promise<number> => {
  try {
    return await sizeOf(directory);
  } catch (thrown) {
    if (isErrno(thrown, 'ENOENT')) return 0;
    throw thrown;
  }
};

/** Newest first. */
const keptIn = async (directory: string): Promise<Kept[]> => {
  const ids = (await readdir(directory)).sort().reverse();
  const paths = ids.map((id) => join(directory, id));
  return Promise.all(paths.map(async (path) => ({ path, bytes: await sizeIfThere(path) })));
};

/** The newest that fit beside a new file of that size stay. */
const surplus = (kept: readonly Kept[], limits: ShelfLimits, bytes: number): readonly Kept[] => {
  let left = limits.bytes - bytes;
  const firstOut = kept.findIndex((one, index) => {
    left -= one.bytes;
    return left < 0 || index >= limits.files - 1;
  });
  return firstOut === -1 ? [] : kept.slice(firstOut);
};

export const createShelf = ({ directory, limits, newId }: ShelfOptions): Shelf => ({
  place: async (folder, name, bytes) => {
    await makeOwnedDirectory(directory, { mode: 0o700 });
    const ofGroup = join(directory, folder);
    await makeOwnedDirectory(ofGroup, { mode: 0o700 });
    for (const { path } of surplus(await keptIn(ofGroup), limits, bytes))
      await rm(path, { recursive: true, force: true });
    const own = join(ofGroup, newId());
    await mkdir(own, { mode: 0o700 });
    return join(own, name);
  },
  remove: (path) => rm(dirname(path), { recursive: true, force: true }),
});
