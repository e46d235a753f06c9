/** Reads a growing file of lines: its last ones backwards from the end, then what is added. Bytes become text by whole lines. */
import { type FileHandle, open } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { isErrno } from '../errors.ts';

const CHUNK_BYTES = 64 * 1024;
const POLL_MS = 200;
const NEWLINE = 0x0a;

/** Where a reading of the file ended. */
export interface LogPosition {
  readonly inode: number;
  readonly offset: number;
}

export interface LogTail {
  /** Oldest first. */
  readonly lines: readonly string[];
  readonly end: LogPosition;
}

const readRange = async (file: FileHandle, from: number, to: number): Promise<Buffer> => {
  const buffer = Buffer.alloc(to - from);
  const { bytesRead } = await file.read(buffer, 0, buffer.length, from);
  return buffer.subarray(0, bytesRead);
};

const linesOf = (bytes: Buffer): string[] =>
  bytes
    .toString('utf8')
    .split('\n')
    .filter((line) => line !== '');

/** Null where there is no such file. */
const openIfThere = async (path: string): Promise<FileHandle | null> => {
  try {
    return await open(path, 'r');
  } catch (thrown) {
    if (isErrno(thrown, 'ENOENT')) return null;
    throw thrown;
  }
};

interface TailRequest {
  readonly count: number;
  readonly accept: (line: string) => boolean;
}

const tailOf = async (file: FileHandle, size: number, { count, accept }: TailRequest): Promise<string[]> => {
  const found: string[] = [];
  let rest = Buffer.alloc(0);
  let from = size;
  while (from > 0 && found.length < count) {
    const start = Math.max(0, from - CHUNK_BYTES);
    const bytes = Buffer.concat([await readRange(file, start, from), rest]);
    // Before its first newline a line may have begun in the chunk before.
    const whole = start === 0 ? 0 : bytes.indexOf(NEWLINE) + 1;
    const complete = start > 0 && whole === 0 ? bytes.length : whole;
    found.unshift(...linesOf(bytes.subarray(complete)).filter(accept));
    rest = bytes.subarray(0, complete);
    from = start;
  }
  return found.slice(-count);
};

/** The last `count` lines that are accepted; null where there is no such file. */
export const tailLines = async (path: string, request: TailRequest): Promise<LogTail | null> => {
  const file = await openIfThere(path);
  if (file === null) return null;
  try {
    const { size, ino } = await file.stat();
    return { lines: await tailOf(file, size, request), end: { inode: ino, offset: size } };
  } finally {
    await file.close();
  }
};

const START: LogPosition = { inode: -1, offset: 0 };

/** Whole lines after that position; begins anew in a file that was replaced or cut. */
const readAdded = async (path: string, after: LogPosition): Promise<LogTail> => {
  const file = await openIfThere(path);
  if (file === null) return { lines: [], end: START };
  try {
    const { size, ino } = await file.stat();
    const from = ino === after.inode && size >= after.offset ? after.offset : 0;
    const bytes = await readRange(file, from, size);
    const whole = bytes.lastIndexOf(NEWLINE) + 1;
    return { lines: linesOf(bytes.subarray(0, whole)), end: { inode: ino, offset: from + whole } };
  } finally {
    await file.close();
  }
};

/** Lines as they are added, until the signal is aborted. */
export async function* followLines(path: string, after: LogPosition, signal: AbortSignal): AsyncGenerator<string> {
  let position = after;
  while (!signal.aborted) {
    const added = await readAdded(path, position);
    position = added.end;
    yield* added.lines;
    await sleep(POLL_MS, undefined, { signal }).catch(() => undefined); // Aborted: the loop's condition ends it.
  }
}
