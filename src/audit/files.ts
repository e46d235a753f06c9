/**
 * The files of an audit trail: the one that is written, the full ones before it, and the head, which names the last
 * line from outside of them. Nothing but a regular file is ever opened, and no link is followed.
 */
import { createHash } from 'node:crypto';
import {
  closeSync,
  constants,
  fdatasyncSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  type Stats,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import type { Digest, Link } from '../domain/audit-chain.ts';
import { AppError, isErrno } from '../errors.ts';

const { O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_RDWR } = constants;

export interface TrailFiles {
  /** The one that is written. */
  readonly file: string;
  /** Full ones, `audit-000001.jsonl` and on; the head; what was there before lines were chained. */
  readonly directory: string;
  readonly head: string;
}

export const trailFiles = (file: string): TrailFiles => {
  const directory = join(dirname(file), 'audit');
  return { file, directory, head: join(directory, 'head') };
};

export const sha256: Digest = (text) => createHash('sha256').update(text, 'latin1').digest('hex');

export const statOf = (path: string): Stats | null => lstatSync(path, { throwIfNoEntry: false }) ?? null;

/** A directory's own entries survive a loss of power only after this. */
export const syncDirectory = (path: string): void => {
  const descriptor = openSync(path, O_RDONLY);
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
};

const notRegular = (path: string): AppError =>
  new AppError({ code: 'audit', message: `${path} is not a regular file`, hint: `look at it: ls -ld '${path}'` });

/** Throws AppError `audit` for what is no regular file, a system error for the rest. */
export const openRegular = (path: string, flags: number): number => {
  const descriptor = openEntry(path, flags | O_NOFOLLOW | O_NONBLOCK);
  if (fstatSync(descriptor).isFile()) return descriptor;
  closeSync(descriptor);
  throw notRegular(path);
};

const openEntry = (path: string, flags: number): number => {
  try {
    return openSync(path, flags, 0o600);
  } catch (thrown) {
    // A link; a directory; a socket or a FIFO without a reader.
    if (['ELOOP', 'EISDIR', 'ENXIO'].some((code) => isErrno(thrown, code))) throw notRegular(path);
    throw thrown;
  }
};

const FULL = /^audit-(\d{6,})\.jsonl$/;

const numberOf = (name: string): number => Number(FULL.exec(name)?.[1] ?? 0);

/** Names of the full files in the order in which they were written. */
export const fullFiles = ({ directory }: TrailFiles): string[] => {
  try {
    return readdirSync(directory)
      .filter((name) => FULL.test(name))
      .sort((a, b) => numberOf(a) - numberOf(b));
  } catch (thrown) {
    if (isErrno(thrown, 'ENOENT')) return [];
    throw thrown;
  }
};

/** What the current file is called once it is full. */
export const nextFullFile = (files: TrailFiles): string => {
  const next = numberOf(fullFiles(files).at(-1) ?? '') + 1;
  return join(files.directory, `audit-${String(next).padStart(6, '0')}.jsonl`);
};

export const makeDirectory = ({ directory }: TrailFiles): void => {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
};

/** Changes whenever somebody touches what the opening reads: the last full file may be mended in its place. */
export const fingerprintOf = (files: TrailFiles): string =>
  [files.file, files.head, files.directory, join(files.directory, fullFiles(files).at(-1) ?? '')]
    .map((path) => statOf(path))
    .map((found) => found && [found.dev, found.ino, found.size, found.mtimeMs, found.ctimeMs].join())
    .join(';');

export interface RawLine {
  /** A character per byte, without the newline. */
  readonly text: string;
  /** False: the file ends before a newline. */
  readonly isWhole: boolean;
}

const CHUNK_BYTES = 64 * 1024;

/** In memory for one chunk and one line; a line that is longer than a chunk is no line of ours and comes in pieces. */
export function* linesOf(descriptor: number, seen?: (bytes: Buffer) => void): Generator<RawLine> {
  const buffer = Buffer.alloc(CHUNK_BYTES);
  let rest = '';
  for (let count = readSync(descriptor, buffer); count > 0; count = readSync(descriptor, buffer)) {
    const bytes = buffer.subarray(0, count);
    seen?.(bytes);
    const pieces = (rest + bytes.toString('latin1')).split('\n');
    rest = pieces.pop() ?? '';
    for (const text of pieces) yield { text, isWhole: true };
    if (rest.length <= CHUNK_BYTES) continue;
    yield { text: rest, isWhole: true };
    rest = '';
  }
  if (rest !== '') yield { text: rest, isWhole: false };
}

/** The whole head in one place that a disk writes at once: it is written over at every line, and never half. */
const headText = ({ seq, hash }: Link): string => `${String(seq).padStart(15, '0')} ${hash}\n`;

const HEAD = /^(\d{15}) ([0-9a-f]{64})\n$/;

/** null: there is none. Throws AppError `audit` where it isn't one. */
export const readHead = ({ head }: TrailFiles): Link | null => {
  if (statOf(head) === null) return null;
  const descriptor = openRegular(head, O_RDONLY);
  try {
    const [, seq, hash] = HEAD.exec(readFileSync(descriptor, 'latin1')) ?? [];
    if (seq !== undefined && hash !== undefined) return { seq: Number(seq), hash };
  } finally {
    closeSync(descriptor);
  }
  throw new AppError({ code: 'audit', message: `${head} was changed: it doesn’t name a line` });
};

/**
 * Not synced at each line, or a line would cost twice as much: after a loss of power the head may name an older line
 * than the last, never a newer one.
 */
export const writeHead = (descriptor: number, link: Link): void => {
  writeSync(descriptor, headText(link), 0, 'latin1');
};

export const openHead = ({ head }: TrailFiles): number => openRegular(head, O_RDWR | O_CREAT);

/** For good, also across a loss of power; whole or not at all where the disk is full or the process dies. */
export const settleHead = (files: TrailFiles, link: Link): void => {
  const beside = `${files.head}.new`;
  const descriptor = openRegular(beside, O_RDWR | O_CREAT);
  try {
    ftruncateSync(descriptor, 0);
    writeHead(descriptor, link);
    fdatasyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  renameSync(beside, files.head);
  syncDirectory(files.directory);
};
