/**
 * Lines at the open end of the trail. Invariants: the head never leads the file on disk, not even across a loss of
 * power; what can't be written whole is taken back.
 */
import { fdatasync, fdatasyncSync, ftruncateSync, writeSync } from 'node:fs';
import { promisify } from 'node:util';
import type { Link, SealedLine } from '../domain/audit-chain.ts';
import { writeHead } from './files.ts';

export interface Tail {
  descriptor: number;
  readonly headDescriptor: number;
  /** Of the file, after its last whole line. */
  size: number;
  link: Link;
  /** Number of the newest line that is on disk and named by the head. */
  settled: number;
  closed: boolean;
}

/** All lines that are there are on disk, then the head names the last. */
export const settle = (tail: Tail): void => {
  if (tail.settled === tail.link.seq) return;
  fdatasyncSync(tail.descriptor);
  writeHead(tail.headDescriptor, tail.link);
  tail.settled = tail.link.seq;
};

const syncData = promisify(fdatasync);

/** The same off the event loop, for the lines that are there now. Rejects where the disk refuses. */
export const settleSoon = async (tail: Tail): Promise<void> => {
  const { descriptor, link } = tail;
  if (tail.settled === link.seq) return;
  try {
    await syncData(descriptor);
  } catch (thrown) {
    // A file that was closed meanwhile was settled before.
    if (tail.closed || tail.descriptor !== descriptor) return;
    throw thrown;
  }
  if (tail.closed || tail.settled >= link.seq) return;
  writeHead(tail.headDescriptor, link);
  tail.settled = link.seq;
};

const writeAll = (descriptor: number, line: string): void => {
  const bytes = Buffer.from(line, 'latin1');
  let written = 0;
  while (written < bytes.length) written += writeSync(descriptor, bytes, written);
};

export const isFull = ({ size }: Tail, { line }: SealedLine, rotateBytes: number): boolean =>
  size > 0 && size + line.length > rotateBytes;

/**
 * In the file when it returns; `lasting`: on disk, too, and named by the head, with all before it. On any error the file
 * is as it was, as far as that can be done.
 */
export const append = (tail: Tail, { line, link }: SealedLine, lasting: boolean): void => {
  const before = { size: tail.size, link: tail.link };
  try {
    writeAll(tail.descriptor, line);
    tail.size += line.length;
    tail.link = link;
    if (lasting) settle(tail);
  } catch (thrown) {
    Object.assign(tail, before);
    ftruncateSync(tail.descriptor, tail.size);
    throw thrown;
  }
};
