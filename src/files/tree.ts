/**
 * The host's own directories: made with the right owner, and thrown away without holding the event loop. A tree that
 * a container has filled is renamed out of the way at once and deleted by a child process.
 */
import { randomUUID } from 'node:crypto';
import { mkdir, readdir, rename } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { execa } from 'execa';
import { AppError, isErrno } from '../errors.ts';
import { type Ownership, openRoot, setOwnership } from './at.ts';

/**
 * Makes a directory of the host's own, with missing parents; an existing real directory gets this mode and owner.
 * Nothing that leads to it may be writable by a container (there: `Directory.makeDirectory`).
 * Throws AppError `refused` where a link or anything else stands in its place.
 */
export const makeOwnedDirectory = async (path: string, ownership: Ownership): Promise<void> => {
  await mkdir(dirname(path), { recursive: true });
  try {
    await mkdir(path, 0o700);
  } catch (thrown) {
    if (!isErrno(thrown, 'EEXIST')) throw thrown;
  }
  const handle = await openRoot(path).catch((thrown: unknown) => {
    throw notADirectory(path, thrown);
  });
  try {
    await setOwnership(handle, ownership);
  } finally {
    await handle.close();
  }
};

const notADirectory = (path: string, cause: unknown): AppError =>
  new AppError({
    code: 'refused',
    message: `${path} is a link or not a directory; only a real directory may stand there`,
    hint: `look at it, then move it away: ls -ld '${path}'`,
    cause,
  });

const run = async (file: string, args: readonly string[]): Promise<{ failed: boolean; stderr: string }> => {
  // In a directory that any user may enter: paths here are absolute, and the supervisor's own may be closed to it.
  const options = { cwd: '/', reject: false, stdin: 'ignore', stdout: 'ignore', maxBuffer: 2000 } as const;
  const { failed, stderr } = await execa(file, [...args], options);
  return { failed, stderr };
};

/**
 * Deletes in a child process; links are removed, never followed, and other file systems are left alone. A directory
 * that a container closed to its owner, which is the supervisor where that isn't root, is opened first.
 */
export const removeTree = (path: string): Promise<void> => removeTrees([path]);

const removeTrees = async (paths: readonly string[]): Promise<void> => {
  const remove = () => run('rm', ['-rf', '--one-file-system', '--', ...paths]);
  if (!(await remove()).failed) return;
  await run('chmod', ['-R', 'u+rwX', '--', ...paths]);
  const { failed, stderr } = await remove();
  if (!failed) return;
  throw new AppError({
    code: 'internal',
    message: `could not delete ${paths.join(' and ')}: ${stderr.slice(0, 500)}`,
    hint: `delete it by hand: rm -rf -- '${paths.join("' '")}'`,
  });
};

export interface Discarded {
  /** Settles when the deletion has ended. Never rejects: what is left behind, the next `emptyTrash` deletes. */
  readonly deleted: Promise<void>;
}

/** Its new path; none where there was nothing. */
const moveToTrash = async (path: string, trashDirectory: string): Promise<string[]> => {
  const trashed = join(trashDirectory, `${basename(path)}-${randomUUID()}`);
  try {
    await rename(path, trashed);
  } catch (thrown) {
    if (isErrno(thrown, 'ENOENT')) return [];
    throw thrown;
  }
  return [trashed];
};

const settled = (renamed: readonly PromiseSettledResult<string[]>[]) => ({
  trashed: renamed.flatMap((one) => (one.status === 'fulfilled' ? one.value : [])),
  failure: renamed.find((one) => one.status === 'rejected'),
});

/**
 * Puts trees out of the way: resolves once they are renamed into the trash (host-only, on the same file system, made
 * when missing); deletion goes on behind, all of them in one child process, for starting one holds the event loop. A
 * path that isn't there is fine.
 */
export const discardTrees = async (paths: readonly string[], trashDirectory: string): Promise<Discarded> => {
  await makeOwnedDirectory(trashDirectory, { mode: 0o700 });
  const moves = paths.map((path) => moveToTrash(path, trashDirectory));
  const { trashed, failure } = settled(await Promise.allSettled(moves));
  const deleted = trashed.length === 0 ? Promise.resolve() : removeTrees(trashed).catch(() => undefined);
  if (failure !== undefined) throw failure.reason;
  return { deleted };
};

export const discardTree = (path: string, trashDirectory: string): Promise<Discarded> =>
  discardTrees([path], trashDirectory);

/** At start: what an earlier process had no time to delete. Resolves when it is gone; throws when it can't be. */
export const emptyTrash = async (trashDirectory: string): Promise<void> => {
  await makeOwnedDirectory(trashDirectory, { mode: 0o700 });
  // What is discarded meanwhile isn't in the list: its own child process deletes it.
  for (const name of await readdir(trashDirectory)) await removeTree(join(trashDirectory, name));
};
