/**
 * Directories that a container can write, used from the host. Everything goes through a descriptor, one component at
 * a time, never following a link, so no swap made meanwhile leads outside the directory that was opened.
 */
import { type FileHandle, rename, rmdir, unlink } from 'node:fs/promises';
import { AppError } from '../errors.ts';
import {
  type Listing,
  listAt,
  makeDirectoryAt,
  type OpenedFile,
  type Ownership,
  openDirectoryAt,
  openFileAt,
  openRoot,
  pathOf,
  readFileAt,
  walk,
  writeFileAt,
} from './at.ts';
import { checkName, type Found, found, refusalOf } from './refusal.ts';

/** Every method throws AppError `internal` after `close`; what a container can cause comes back as a refusal. */
export interface Directory {
  /** Where it was opened; for messages and for paths that only the host can change. */
  readonly path: string;
  /** For `fs.watch`: stays on this very directory whatever stands at `path` by now. Valid until `close`. */
  readonly descriptorPath: string;
  /** A regular file with one link and at most `maxBytes`, checked by its descriptor. The caller closes the handle. */
  openFile(names: readonly string[], maxBytes: number): Promise<Found<OpenedFile>>;
  /** Its content, never more than `maxBytes`, even if it grows meanwhile. */
  readFile(names: readonly string[], maxBytes: number): Promise<Found<Buffer>>;
  openDirectory(names: readonly string[]): Promise<Found<Directory>>;
  list(maxEntries: number): Promise<Listing>;
  /** Puts the whole file there at once (temporary name, then rename); replaces a file or a link, never follows it. */
  writeFile(name: string, bytes: Uint8Array | string, ownership: Ownership): Promise<Found<void>>;
  /** Makes it, or takes an existing real directory; mode and owner are set either way. */
  makeDirectory(name: string, ownership: Ownership): Promise<Found<Directory>>;
  /** Moves an entry of any type as it is; an existing entry of that name is replaced. Same file system only. */
  move(name: string, to: Directory, newName: string): Promise<Found<void>>;
  /** The other half of `move`, which checks both names first. */
  receive(entry: string, newName: string): Promise<void>;
  /** Unlinks; a directory is refused. */
  remove(name: string): Promise<Found<void>>;
  /** Removes an empty directory. */
  removeDirectory(name: string): Promise<Found<void>>;
  /** Waits for what is under way, then gives the descriptor back. Idempotent. */
  close(): Promise<void>;
}

/** Runs one system call on a single entry; what a container can cause becomes a refusal. */
const attempt = async (name: string, act: () => Promise<void>): Promise<Found<void>> => {
  const bad = checkName(name);
  if (bad !== null) return bad;
  try {
    return found(await act());
  } catch (thrown) {
    return refusalOf(thrown, name);
  }
};

/** Keeps a descriptor open until nothing uses it: its number, once given back, may mean another directory. */
const leaseOf = (handle: FileHandle, path: string) => {
  const underWay = new Set<Promise<unknown>>();
  let closed: Promise<void> | undefined;
  const use = async <T>(act: () => Promise<T>): Promise<T> => {
    if (closed !== undefined) throw new AppError({ code: 'internal', message: `${path} was used after it was closed` });
    const running = act();
    underWay.add(running);
    try {
      return await running;
    } finally {
      underWay.delete(running);
    }
  };
  const close = (): Promise<void> => {
    closed ??= Promise.allSettled(underWay).then(() => handle.close());
    return closed;
  };
  return { use, close };
};

const directoryOn = (handle: FileHandle, path: string): Directory => {
  const { use, close } = leaseOf(handle, path);
  const wrap = (opened: Found<FileHandle>, names: readonly string[]): Found<Directory> =>
    opened.ok ? found(directoryOn(opened.value, [path, ...names].join('/'))) : opened;
  return {
    path,
    descriptorPath: `/proc/self/fd/${handle.fd}`,
    openFile: (names, maxBytes) => use(() => walk(handle, names, (at, leaf) => openFileAt(at, leaf, maxBytes))),
    readFile: (names, maxBytes) => use(() => walk(handle, names, (at, leaf) => readFileAt(at, leaf, maxBytes))),
    openDirectory: (names) => use(async () => wrap(await walk(handle, names, openDirectoryAt), names)),
    list: (maxEntries) => use(() => listAt(handle, maxEntries)),
    writeFile: (name, bytes, ownership) =>
      use(async () => checkName(name) ?? (await writeFileAt(handle, name, { bytes, ownership }))),
    makeDirectory: (name, ownership) =>
      use(async () => checkName(name) ?? wrap(await makeDirectoryAt(handle, name, ownership), [name])),
    move: (name, to, newName) =>
      use(async () => checkName(newName) ?? (await attempt(name, () => to.receive(pathOf(handle, name), newName)))),
    receive: (entry, newName) => use(() => rename(entry, pathOf(handle, newName))),
    remove: (name) => use(() => attempt(name, () => unlink(pathOf(handle, name)))),
    removeDirectory: (name) => use(() => attempt(name, () => rmdir(pathOf(handle, name)))),
    close,
  };
};

/**
 * Opens a directory of the host's own by its path; what lies beneath may be hostile, what leads to it may not.
 * Throws AppError `refused` when it is missing, a link or not a directory.
 */
export const openDirectory = async (root: string): Promise<Directory> => {
  try {
    return directoryOn(await openRoot(root), root);
  } catch (thrown) {
    const { detail } = refusalOf(thrown, root);
    throw new AppError({ code: 'refused', message: `can't use the directory ${detail}`, cause: thrown });
  }
};
