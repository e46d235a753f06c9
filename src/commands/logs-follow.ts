/**
 * Follows a log that grows. Invariant: a file is read to its end before the next one by its name is opened, and one
 * that was cut is read from its start again, so that rotation and truncation lose no whole line that was there to read.
 */
import { type FileHandle, stat } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { isErrno } from '../errors.ts';
import { type LogPosition, linesOf, openIfThere, readRange } from './logs-read.ts';

const POLL_MS = 200;
const NEWLINE = 0x0a;
/** Read at once, and the longest line that is waited for. */
const READ_BYTES_MAX = 1024 * 1024;
/** What was read last is compared before going on: a file may have been cut and have grown again in between. */
const REMEMBERED_BYTES = 64;

interface Reading {
  readonly file: FileHandle;
  readonly inode: number;
  offset: number;
  /** The last bytes before `offset`. */
  last: Buffer;
  /** A line whose end has not come yet. */
  rest: Buffer;
}

const NOTHING = Buffer.alloc(0);

const begin = async (path: string, after: LogPosition | null): Promise<Reading | null> => {
  const file = await openIfThere(path);
  if (file === null) return null;
  const { ino, size } = await file.stat();
  const offset = after !== null && ino === after.inode && size >= after.offset ? after.offset : 0;
  const last = await readRange(file, Math.max(0, offset - REMEMBERED_BYTES), offset);
  return { file, inode: ino, offset, last, rest: NOTHING };
};

const wasCut = async ({ file, offset, last }: Reading, size: number): Promise<boolean> =>
  size < offset || !(await readRange(file, offset - last.length, offset)).equals(last);

/** Whole lines among these bytes and what was waiting; a line beyond the limit is handed out in pieces. */
const takeLines = (reading: Reading, bytes: Buffer): string[] => {
  const all = Buffer.concat([reading.rest, bytes]);
  const end = all.lastIndexOf(NEWLINE) + 1;
  const whole = end === 0 && all.length > READ_BYTES_MAX ? all.length : end;
  reading.rest = all.subarray(whole);
  return linesOf(all.subarray(0, whole));
};

/** The next lines, at most a MiB of them; null: nothing more is there now. */
const readOn = async (reading: Reading): Promise<string[] | null> => {
  const { size } = await reading.file.stat();
  if (size === reading.offset) return null;
  if (await wasCut(reading, size)) Object.assign(reading, { offset: 0, last: NOTHING, rest: NOTHING });
  const bytes = await readRange(reading.file, reading.offset, Math.min(size, reading.offset + READ_BYTES_MAX));
  if (bytes.length === 0) return null;
  reading.offset += bytes.length;
  reading.last = Buffer.concat([reading.last, bytes]).subarray(-REMEMBERED_BYTES);
  return takeLines(reading, bytes);
};

async function* readToEnd(reading: Reading): AsyncGenerator<string> {
  for (let lines = await readOn(reading); lines !== null; lines = await readOn(reading)) yield* lines;
}

/** True where the name means another file by now; one that is only gone may still be written to. */
const isReplaced = async (path: string, { inode }: Reading): Promise<boolean> => {
  try {
    return (await stat(path)).ino !== inode;
  } catch (thrown) {
    if (isErrno(thrown, 'ENOENT')) return false;
    throw thrown;
  }
};

/** What there is to read now, from the file or from those that have followed it under its name. */
async function* readAdded(path: string, state: { reading: Reading | null }): AsyncGenerator<string> {
  for (;;) {
    state.reading ??= await begin(path, null);
    if (state.reading === null) return;
    // Asked first: what comes into the old file before it is replaced is then read below.
    const replaced = await isReplaced(path, state.reading);
    yield* readToEnd(state.reading);
    if (!replaced) return;
    yield* linesOf(state.reading.rest);
    await state.reading.file.close();
    state.reading = null;
  }
}

/** Lines as they are added after that position (null: from the start), until the signal is aborted. */
export async function* followLines(
  path: string,
  after: LogPosition | null,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const state = { reading: await begin(path, after) };
  try {
    while (!signal.aborted) {
      yield* readAdded(path, state);
      await sleep(POLL_MS, undefined, { signal }).catch(() => undefined); // Aborted: the loop's condition ends it.
    }
  } finally {
    await state.reading?.file.close();
  }
}
