/** The last lines of a log, read backwards from its end. Bytes become text by whole lines. */
import { type FileHandle, open } from 'node:fs/promises';
import { isErrno } from '../errors.ts';

const CHUNK_BYTES = 64 * 1024;
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

export const readRange = async (file: FileHandle, from: number, to: number): Promise<Buffer> => {
  const buffer = Buffer.alloc(to - from);
  const { bytesRead } = await file.read(buffer, 0, buffer.length, from);
  return buffer.subarray(0, bytesRead);
};

export const linesOf = (bytes: Buffer): string[] =>
  bytes
    .toString('utf8')
    .split('\n')
    .filter((line) => line !== '');

/** Null where there is no such file. */
export const openIfThere = async (path: string): Promise<FileHandle | null> => {
  try {
    return await open(path, 'r');
  } catch (thrown) {
    if (isErrno(thrown, 'ENOENT')) return null;
    throw thrown;
  }
};

export interface TailRequest {
  readonly count: number;
  readonly accept: (line: string) => boolean;
  /** True: a last line that has not ended yet is left to whoever reads on. */
  readonly wholeLines?: boolean;
}

/** Where the last whole line ends. */
const endOfLines = async (file: FileHandle, size: number): Promise<number> => {
  for (let to = size; to > 0; to -= CHUNK_BYTES) {
    const from = Math.max(0, to - CHUNK_BYTES);
    const at = (await readRange(file, from, to)).lastIndexOf(NEWLINE);
    if (at >= 0) return from + at + 1;
  }
  return 0;
};

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
    const offset = request.wholeLines === true ? await endOfLines(file, size) : size;
    return { lines: await tailOf(file, offset, request), end: { inode: ino, offset } };
  } finally {
    await file.close();
  }
};
