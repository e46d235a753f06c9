/**
 * What can be done beneath one directory descriptor, one component at a time and never through a link: a path made of
 * several components would let the kernel follow links in its middle.
 */
import { randomUUID } from 'node:crypto';
import fs, { constants } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, opendir, rename, unlink } from 'node:fs/promises';
import { promisify } from 'node:util';
import { isErrno } from '../errors.ts';
import { checkFile, checkName, type Found, found, refusal, refusalOf } from './refusal.ts';

const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOCTTY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;
/** Deeper paths than this are refused: every level costs a descriptor while it is walked. */
const DEPTH_MAX = 64;

export interface Ownership {
  /** Permission bits, set exactly (the umask has no say). */
  readonly mode: number;
  /** Owner and group; left out or null: the supervisor's own. */
  readonly uid?: number | null | undefined;
}

export interface OpenedFile {
  readonly handle: FileHandle;
  /** Bytes when it was checked. */
  readonly size: number;
}

export interface Listing {
  /** In the directory's own order; never `.` and `..`. */
  readonly names: readonly string[];
  /** There were more; those were not looked at. */
  readonly overflow: boolean;
}

export const pathOf = (directory: FileHandle, name: string): string => `/proc/self/fd/${directory.fd}/${name}`;

/** Opens a directory by a path that only the host can change; the last component must not be a link. */
export const openRoot = (path: string): Promise<FileHandle> => open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);

/** Opens one component as a real directory. */
export const openDirectoryAt = async (at: FileHandle, name: string): Promise<Found<FileHandle>> => {
  try {
    return found(await openRoot(pathOf(at, name)));
  } catch (thrown) {
    return refusalOf(thrown, name);
  }
};

type Use<T> = (parent: FileHandle, leaf: string) => Promise<Found<T>>;

/** Walks to the leaf's directory and closes every descriptor that it opened on the way. */
export const walk = async <T>(at: FileHandle, names: readonly string[], use: Use<T>): Promise<Found<T>> => {
  const [first = '', ...rest] = names;
  if (names.length > DEPTH_MAX) return refusal('name', first, `a path of more than ${DEPTH_MAX} names`);
  const bad = checkName(first);
  if (bad !== null) return bad;
  if (rest.length === 0) return use(at, first);
  const next = await openDirectoryAt(at, first);
  if (!next.ok) return next;
  try {
    return await walk(next.value, rest, use);
  } finally {
    await next.value.close();
  }
};

/** Keeps the handle only if what it is open on may be read. */
const checked = async (handle: FileHandle, name: string, maxBytes: number): Promise<Found<OpenedFile>> => {
  let keep = false;
  try {
    const stats = await handle.stat();
    const bad = checkFile(stats, name, maxBytes);
    keep = bad === null;
    return bad ?? found({ handle, size: stats.size });
  } finally {
    if (!keep) await handle.close();
  }
};

/** The look beforehand keeps FIFOs and devices from being opened at all; the descriptor's check is what counts. */
export const openFileAt = async (at: FileHandle, name: string, maxBytes: number): Promise<Found<OpenedFile>> => {
  try {
    const before = checkFile(await lstat(pathOf(at, name)), name, maxBytes);
    if (before !== null) return before;
    const handle = await open(pathOf(at, name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    return await checked(handle, name, maxBytes);
  } catch (thrown) {
    return refusalOf(thrown, name);
  }
};

/** Most of what is read is smaller. */
const FIRST_READ_BYTES = 16 * 1024;

interface Beginning {
  /** Open: to be closed by whoever gets it. */
  readonly descriptor: number;
  readonly look: fs.Stats | Error;
  readonly bytes: Buffer | Error;
}

/**
 * Opens; then looks and reads at once, because each step is a way to another thread and back. By callbacks, because all
 * that surrounds a FileHandle takes as long again.
 */
const beginReading = (path: string): Promise<Beginning> =>
  new Promise((resolve, reject) => {
    fs.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, (failed, descriptor) => {
      if (failed !== null) {
        reject(failed);
        return;
      }
      const room = Buffer.allocUnsafe(FIRST_READ_BYTES);
      const seen: { look?: fs.Stats | Error; bytes?: Buffer | Error } = {};
      const settle = ({ look, bytes } = seen): void => {
        if (look !== undefined && bytes !== undefined) resolve({ descriptor, look, bytes });
      };
      fs.fstat(descriptor, (error, stats) => {
        seen.look = error ?? stats;
        settle();
      });
      fs.read(descriptor, room, 0, room.length, 0, (error, count) => {
        seen.bytes = error ?? room.subarray(0, count);
        settle();
      });
    });
  });

const wholeOrChanged = (bytes: Buffer, size: number, name: string): Found<Buffer> =>
  bytes.length === size ? found(bytes) : refusal('changed', name, 'changed while it was read');

const readMore = promisify(fs.read);

const readOn = async (descriptor: number, beginning: Buffer, size: number): Promise<Buffer> => {
  // One byte more than it had: filling it shows that the file grew.
  const whole = Buffer.concat([beginning], size + 1);
  let length = beginning.length;
  let got = length;
  // Each read asks for more than the rest, so one that ends exactly there has met the end of the file.
  while (got > 0 && length < size) {
    got = (await readMore(descriptor, whole, length, whole.length - length, length)).bytesRead;
    length += got;
  }
  return whole.subarray(0, length);
};

/** What was read counts only where the look at the descriptor allows it. */
const readWhole = async ({ descriptor, look, bytes }: Beginning, name: string, maxBytes: number) => {
  if (look instanceof Error) throw look;
  const bad = checkFile(look, name, maxBytes);
  if (bad !== null) return bad;
  if (bytes instanceof Error) throw bytes;
  const whole = look.size < FIRST_READ_BYTES ? bytes : await readOn(descriptor, bytes, look.size);
  return wholeOrChanged(whole, look.size, name);
};

/**
 * In two steps instead of the four of `openFileAt`. Without a look beforehand a FIFO is opened, too: for an instant, and
 * waiting for nobody. Devices can't be made by a container.
 */
export const readFileAt = async (at: FileHandle, name: string, maxBytes: number): Promise<Found<Buffer>> => {
  try {
    const beginning = await beginReading(pathOf(at, name));
    try {
      return await readWhole(beginning, name, maxBytes);
    } finally {
      // Nobody has to wait for it: what was read is ours, and a descriptor that was only read from closes without fail.
      fs.close(beginning.descriptor, () => undefined);
    }
  } catch (thrown) {
    return refusalOf(thrown, name);
  }
};

/** By descriptor, so a link put in its place meanwhile is not touched. */
export const setOwnership = async (handle: FileHandle, { mode, uid }: Ownership): Promise<void> => {
  if (typeof uid === 'number' && uid !== process.getuid?.()) await handle.chown(uid, uid);
  await handle.chmod(mode);
};

const writeNew = async (path: string, bytes: Uint8Array | string, ownership: Ownership): Promise<void> => {
  const handle = await open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
  try {
    await handle.writeFile(bytes);
    await setOwnership(handle, ownership);
  } finally {
    await handle.close();
  }
};

export const writeFileAt = async (
  at: FileHandle,
  name: string,
  file: { bytes: Uint8Array | string; ownership: Ownership },
) => {
  const temporary = pathOf(at, `.${randomUUID()}.tmp`);
  try {
    await writeNew(temporary, file.bytes, file.ownership);
    await rename(temporary, pathOf(at, name));
    return found(undefined);
  } catch (thrown) {
    // Whatever went wrong, the temporary file must not stay; it may never have been made.
    await unlink(temporary).catch(() => undefined);
    return refusalOf(thrown, name);
  }
};

export const makeDirectoryAt = async (
  at: FileHandle,
  name: string,
  ownership: Ownership,
): Promise<Found<FileHandle>> => {
  try {
    await mkdir(pathOf(at, name), 0o700);
  } catch (thrown) {
    if (!isErrno(thrown, 'EEXIST')) return refusalOf(thrown, name);
  }
  const made = await openDirectoryAt(at, name);
  if (!made.ok) return made;
  try {
    await setOwnership(made.value, ownership);
    return made;
  } catch (thrown) {
    await made.value.close();
    return refusalOf(thrown, name);
  }
};

export const listAt = async (handle: FileHandle, maxEntries: number): Promise<Listing> => {
  const names: string[] = [];
  // Leaving the loop closes the listing.
  for await (const entry of await opendir(`/proc/self/fd/${handle.fd}`, { bufferSize: 256 })) {
    if (names.length === maxEntries) return { names, overflow: true };
    names.push(entry.name);
  }
  return { names, overflow: false };
};
