/**
 * Opening, reading and replacing files for the file tools: regular files only, bounded, never blocking on a device or
 * a FIFO. Which files may be touched is decided by the mounts; here it only gets a clear message.
 */
import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { mkdir, open, realpath, rename, stat, unlink, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { isErrno } from '../../../src/errors.ts';
import { ToolFailure } from './tool.ts';

/** What a file tool reads or writes at most. */
export const FILE_BYTES_MAX = 8 * 1024 * 1024;
const KERNEL_PATHS = /^\/(?:proc|sys|dev)(?:\/|$)/;

const REASONS: readonly (readonly [code: string, reason: string])[] = [
  ['ENOENT', 'does not exist'],
  ['ENOTDIR', 'lies below something that is not a directory'],
  ['EISDIR', 'is a directory'],
  ['EACCES', 'may not be accessed'],
  ['EPERM', 'may not be accessed'],
  ['EROFS', 'is read-only in this chat'],
  ['ENOSPC', 'does not fit: the disk is full'],
  ['EDQUOT', 'does not fit: the disk is full'],
  ['EFBIG', 'is larger than a file may be here'],
  ['ELOOP', 'leads through too many links'],
  ['ENAMETOOLONG', 'has too long a name'],
  ['ENXIO', 'is not a regular file'],
];

/** Runs the file operation and turns system errors into a sentence about that path. */
export const explained = async <T>(path: string, operation: () => Promise<T>): Promise<T> => {
  try {
    return await operation();
  } catch (thrown) {
    const reason = REASONS.find(([code]) => isErrno(thrown, code))?.[1];
    throw reason === undefined ? thrown : new ToolFailure(`${path} ${reason}.`);
  }
};

/** The absolute path behind what the model wrote; throws ToolFailure for what isn't a place for files. */
export const locate = (directory: string, path: string): string => {
  if (path.includes('\0')) throw new ToolFailure('A path can not have a NUL character in it.');
  const absolute = resolve(directory, path);
  if (KERNEL_PATHS.test(absolute)) throw new ToolFailure(`${path} is a place of the kernel, not of files; use bash.`);
  return absolute;
};

/** Where links lead; the path itself where there is nothing yet. */
const behindLinks = async (absolute: string): Promise<string> => {
  try {
    return locate('/', await realpath(absolute));
  } catch (thrown) {
    if (isErrno(thrown, 'ENOENT')) return absolute;
    throw thrown;
  }
};

/** The bytes of a regular file. */
export const readRegular = (path: string, absolute: string): Promise<Buffer> =>
  explained(path, async () => {
    const file = await open(await behindLinks(absolute), constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const { size, ...found } = await statOf(file);
      if (found.directory) throw new ToolFailure(`${path} is a directory.`);
      if (!found.regular) throw new ToolFailure(`${path} is not a regular file.`);
      if (size > FILE_BYTES_MAX)
        throw new ToolFailure(`${path} has ${size} bytes; ${FILE_BYTES_MAX} can be read. Use bash.`);
      return await file.readFile();
    } finally {
      await file.close();
    }
  });

const statOf = async (file: Awaited<ReturnType<typeof open>>) => {
  const found = await file.stat();
  return { regular: found.isFile(), directory: found.isDirectory(), size: found.size };
};

/** undefined where there is no file yet; refuses what is there but no regular file. */
const modeOf = async (path: string, target: string): Promise<number | undefined> => {
  try {
    const found = await stat(target);
    if (found.isDirectory()) throw new ToolFailure(`${path} is a directory.`);
    if (!found.isFile()) throw new ToolFailure(`${path} is not a regular file.`);
    return found.mode & 0o777;
  } catch (thrown) {
    if (isErrno(thrown, 'ENOENT')) return undefined;
    throw thrown;
  }
};

/** Puts the content in place at once (temporary file, then rename); in place where the directory takes no new file. */
export const replaceFile = (path: string, absolute: string, content: string): Promise<void> =>
  explained(path, async () => {
    const bytes = Buffer.byteLength(content);
    if (bytes > FILE_BYTES_MAX) throw new ToolFailure(`The content has ${bytes} bytes; ${FILE_BYTES_MAX} are allowed.`);
    const target = await behindLinks(absolute);
    const mode = await modeOf(path, target);
    await mkdir(dirname(target), { recursive: true });
    const temporary = join(dirname(target), `.${randomUUID()}.tmp`);
    try {
      await writeFile(temporary, content, { flag: 'wx', mode: mode ?? 0o666 });
      await rename(temporary, target);
    } catch (thrown) {
      // Half a file must not stay behind; that it may not exist is fine.
      await unlink(temporary).catch(() => undefined);
      if (mode === undefined || !isErrno(thrown, 'EACCES')) throw thrown;
      await writeFile(target, content);
    }
  });
