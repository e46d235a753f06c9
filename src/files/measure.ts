/**
 * How much a directory tree holds that a container can write: allocated bytes and entries. Blocking, for a thread of
 * its own; it gives way after every few entries. Invariants: nothing is followed, not a link and not another file
 * system; what is renamed, swapped or deleted meanwhile leads nowhere else; descriptors and memory are bounded.
 */
import { closeSync, constants, type Dir, fstatSync, lstatSync, opendirSync, openSync, type Stats } from 'node:fs';
import { isErrno } from '../errors.ts';

const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;
const OPEN_FLAGS = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK;
/** Of a deeper tree the upper levels are closed, and found again through the lower ones' `..`. */
const OPEN_LEVELS = 32;
/** Beyond this a tree isn't measured, whatever the quota: some ten seconds of work. */
const ENTRIES_MAX = 5_000_000;
const ENTRIES_PER_SLICE = 64;
const BLOCK_BYTES = 512;

/** null: without end. */
export interface Bounds {
  readonly bytes: number | null;
  readonly files: number | null;
}

export interface Measured {
  /** Allocated on disk, a file with several names counted once. */
  readonly bytes: number;
  /** Entries of every kind. */
  readonly files: number;
  /**
   * `whole`: all of it was seen; `beyond`: it holds more than the bounds, and the rest wasn't looked at; `lost`: it
   * changed so that the walk lost its way, and this is the least that it holds.
   */
  readonly walk: 'whole' | 'beyond' | 'lost';
  /** The container's directories that this process may not read; always 0 for root. */
  readonly closed: number;
}

interface Level {
  /** null: closed for now. */
  descriptor: number | null;
  readonly dev: number;
  readonly ino: number;
  /** Names of directories that are still to be looked into: bytes, for a name need not be UTF-8. */
  readonly pending: Buffer[];
}

type OpenLevel = Level & { readonly descriptor: number };

interface Walk {
  readonly bounds: Bounds;
  readonly uid: number;
  readonly levels: Level[];
  /** Inodes that must not count twice: directories, and files with more than one name. */
  readonly seen: Set<number>;
  bytes: number;
  files: number;
  closed: number;
}

const pathAt = (descriptor: number, name: Buffer): Buffer =>
  Buffer.concat([Buffer.from(`/proc/self/fd/${descriptor}/`), name]);

/** What a container can cause at any moment, by deleting and by putting something else in a thing's place. */
const GONE = ['ENOENT', 'ENOTDIR', 'ELOOP', 'ESTALE'];
const CLOSED = ['EACCES', 'EPERM'];

/** null: gone meanwhile, or closed to us. */
const unlessGone = <T>(act: () => T, onClosed: () => void): T | null => {
  try {
    return act();
  } catch (thrown) {
    if (GONE.some((code) => isErrno(thrown, code))) return null;
    if (!CLOSED.some((code) => isErrno(thrown, code))) throw thrown;
    onClosed();
    return null;
  }
};

const levelOn = (descriptor: number): OpenLevel => {
  const { dev, ino } = fstatSync(descriptor);
  return { descriptor, dev, ino, pending: [] };
};

const isBeyond = ({ bounds, bytes, files }: Walk): boolean =>
  (bounds.bytes !== null && bytes > bounds.bytes) || files > (bounds.files ?? ENTRIES_MAX) || files > ENTRIES_MAX;

interface FoundEntry {
  readonly name: Buffer;
  readonly stats: Stats;
}

const countEntry = (walk: Walk, level: Level, { name, stats }: FoundEntry): void => {
  walk.files += 1;
  if (stats.dev !== level.dev) return; // Something is mounted there: not on this file system, not of this tree.
  if (stats.isDirectory() || stats.nlink > 1) {
    if (walk.seen.has(stats.ino)) return;
    walk.seen.add(stats.ino);
  }
  walk.bytes += stats.blocks * BLOCK_BYTES;
  if (stats.isDirectory()) level.pending.push(name);
};

const entryAt = (descriptor: number, name: Buffer): FoundEntry | null => {
  const stats = unlessGone(
    () => lstatSync(pathAt(descriptor, name)),
    () => undefined, // A directory that can be listed and not searched: it counts as closed where it is opened.
  );
  return stats === null ? null : { name, stats };
};

function* countEntries(walk: Walk, level: OpenLevel, listing: Dir): Generator<void> {
  for (let count = 1; ; count += 1) {
    const entry = listing.readSync();
    if (entry === null || isBeyond(walk)) return;
    // With the encoding `buffer` it is one, though the types say string.
    const found = entryAt(level.descriptor, Buffer.from(entry.name));
    if (found !== null) countEntry(walk, level, found);
    if (count % ENTRIES_PER_SLICE === 0) yield;
  }
}

/** Counts what lies directly in it. */
function* scan(walk: Walk, level: OpenLevel): Generator<void> {
  const options = { encoding: 'buffer' as BufferEncoding, bufferSize: 256 };
  const listing = unlessGone(
    () => opendirSync(`/proc/self/fd/${level.descriptor}`, options),
    () => {
      walk.closed += 1;
    },
  );
  if (listing === null) return;
  try {
    yield* countEntries(walk, level, listing);
  } finally {
    listing.closeSync();
  }
}

/** One that belongs to somebody else the container can't write either. */
const noteClosed = (walk: Walk, path: Buffer): void => {
  const stats = unlessGone(
    () => lstatSync(path),
    () => undefined,
  );
  if (stats?.uid === walk.uid) walk.closed += 1;
};

const descend = (walk: Walk, descriptor: number, name: Buffer): OpenLevel | null => {
  const path = pathAt(descriptor, name);
  const opened = unlessGone(
    () => openSync(path, OPEN_FLAGS),
    () => noteClosed(walk, path),
  );
  if (opened === null) return null;
  const level = levelOn(opened);
  walk.levels.push(level);
  const upper = walk.levels.at(-1 - OPEN_LEVELS);
  if (upper !== undefined && upper.descriptor !== null) {
    closeSync(upper.descriptor);
    upper.descriptor = null;
  }
  return level;
};

/** Back to the level above. False: what lies there now is another directory than the one that was come from. */
const ascend = (walk: Walk): boolean => {
  const left = walk.levels.pop();
  const above = walk.levels.at(-1);
  if (left === undefined || left.descriptor === null) return true;
  const from = left.descriptor;
  try {
    if (above === undefined || above.descriptor !== null) return true;
    const opened = unlessGone(
      () => openSync(`/proc/self/fd/${from}/..`, OPEN_FLAGS),
      () => undefined,
    );
    above.descriptor = opened;
    if (opened === null) return false;
    const { dev, ino } = fstatSync(opened);
    return dev === above.dev && ino === above.ino;
  } finally {
    closeSync(from);
  }
};

/** One step down or up. False: the way back is lost. */
function* step(walk: Walk, { descriptor, pending }: Level): Generator<void, boolean> {
  const name = pending.pop();
  if (name === undefined || descriptor === null) return ascend(walk);
  const below = descend(walk, descriptor, name);
  if (below !== null) yield* scan(walk, below);
  return true;
}

function* visit(walk: Walk): Generator<void, Measured['walk']> {
  for (let level = walk.levels.at(-1); level !== undefined; level = walk.levels.at(-1)) {
    if (isBeyond(walk)) return 'beyond';
    if (!(yield* step(walk, level))) return 'lost';
    yield;
  }
  return isBeyond(walk) ? 'beyond' : 'whole';
}

const closeAll = ({ levels }: Walk): void => {
  for (const { descriptor } of levels) if (descriptor !== null) closeSync(descriptor);
};

/**
 * Measures what lies beneath `root`, a directory whose path only the host can change; one that isn't there holds
 * nothing. `uid` is the container's. To be run to its end, or ended by `return()`.
 */
export function* measureTree(root: string, bounds: Bounds, uid: number): Generator<void, Measured> {
  const walk: Walk = { bounds, uid, levels: [], seen: new Set(), bytes: 0, files: 0, closed: 0 };
  const opened = unlessGone(
    () => openSync(root, OPEN_FLAGS),
    () => {
      walk.closed += 1;
    },
  );
  if (opened === null) return { bytes: 0, files: 0, walk: 'whole', closed: walk.closed };
  try {
    const level = levelOn(opened);
    walk.levels.push(level);
    yield* scan(walk, level);
    const ended = yield* visit(walk);
    return { bytes: walk.bytes, files: walk.files, walk: ended, closed: walk.closed };
  } finally {
    closeAll(walk);
  }
}
