/**
 * Makes files and directories of a home from templates. Invariant: nothing that is there is ever written over, and
 * nothing is written through a link: what is missing is made with O_EXCL, what is there is only looked at.
 */
import { chmod, lstat, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError, isErrno } from '../errors.ts';
import { packageRoot } from '../package-root.ts';

/** What became of one path. */
export type Outcome = 'made' | 'kept' | 'mended';

const DIRECTORY_MODE = 0o755;
const FILE_MODE = 0o644;
const PERMISSION_BITS = 0o777;

const wrongKind = (path: string, wanted: string): AppError =>
  new AppError({
    code: 'conflict',
    message: `${path} is there already and is not a ${wanted} (a link isn't one either)`,
    hint: 'move it away and run the command again',
  });

/** Takes away what others could do; never adds a right. */
const tighten = async (path: string, found: number, allowed: number): Promise<Outcome> => {
  if ((found & PERMISSION_BITS & ~allowed) === 0) return 'kept';
  await chmod(path, found & allowed);
  return 'mended';
};

/** `mode` is what a new one gets; an existing one is `tightened` to it only where that is asked for. */
export const makeDirectory = async (path: string, mode = DIRECTORY_MODE, tightened = false): Promise<Outcome> => {
  try {
    await mkdir(path, { mode });
    await chmod(path, mode); // The umask may have taken away what containers need.
    return 'made';
  } catch (thrown) {
    if (!isErrno(thrown, 'EEXIST')) throw thrown;
  }
  const found = await lstat(path);
  if (!found.isDirectory()) throw wrongKind(path, 'directory');
  return tightened ? tighten(path, found.mode, mode) : 'kept';
};

const templates = (): string => join(packageRoot(), 'groups', 'templates');

/** Copies a template of `groups/templates/` to a path where nothing is yet. */
export const makeFile = async (path: string, template: string, mode = FILE_MODE): Promise<Outcome> => {
  const content = await readFile(join(templates(), template));
  try {
    await writeFile(path, content, { flag: 'wx', mode });
    return 'made';
  } catch (thrown) {
    if (!isErrno(thrown, 'EEXIST')) throw thrown;
  }
  const found = await lstat(path);
  if (!found.isFile()) throw wrongKind(path, 'file');
  return mode === FILE_MODE ? 'kept' : tighten(path, found.mode, mode);
};
