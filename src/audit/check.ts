/** Reads a trail and judges it: all of it for `verify`, the file that is written for its opening. Changes nothing. */
import { createHash } from 'node:crypto';
import { closeSync, constants, fstatSync, readSync } from 'node:fs';
import { basename, join } from 'node:path';
import { GENESIS, type Link, readLine, restartOf } from '../domain/audit-chain.ts';
import { type Verdict, Verifier } from '../domain/audit-verdict.ts';
import { toAppError } from '../errors.ts';
import { fullFiles, linesOf, openRegular, readHead, sha256, statOf, type TrailFiles } from './files.ts';

/** What the end of a file is without its newline: a line that is being written, or that a dead process left. */
export interface Torn {
  readonly bytes: number;
  /** The beginning, a character per byte. */
  readonly text: string;
}

export interface Judged extends Verdict {
  readonly torn: Torn | null;
  /** null: there is none. */
  readonly head: Link | null;
}

const TORN_CHARS = 400;
/** In the directory of the file that is written. */
const HEAD_NAME = 'audit/head';
/** In the place of the hash of what can't be read as a file. */
const UNREADABLE = 'unreadable';

/** Feeds one file to the verifier; the torn end of it, if it has one. */
const readInto = (verifier: Verifier, path: string): Torn | null => {
  verifier.beginFile(basename(path));
  const hash = createHash('sha256');
  const descriptor = openRegular(path, constants.O_RDONLY);
  try {
    for (const { text, isWhole } of linesOf(descriptor, (bytes) => hash.update(bytes))) {
      if (isWhole) verifier.take(text);
      else return { bytes: text.length, text: text.slice(0, TORN_CHARS) };
    }
    return null;
  } finally {
    closeSync(descriptor);
    verifier.endFile(hash.digest('hex'));
  }
};

/** What can't be read is a flaw like any other, and the files after it are still looked at. */
const readFull = (verifier: Verifier, path: string): void => {
  try {
    const torn = readInto(verifier, path);
    if (torn !== null) verifier.flaw('the last line is not whole: it was cut');
    if (statOf(path)?.size === 0) verifier.flaw('it has no line: they were cut off, or it was added');
  } catch (thrown) {
    verifier.flaw(toAppError(thrown).message);
    verifier.endFile(UNREADABLE);
  }
};

const readCurrent = (verifier: Verifier, path: string): Torn | null => {
  try {
    if (statOf(path) !== null) return readInto(verifier, path);
    verifier.beginFile(basename(path));
  } catch (thrown) {
    verifier.flaw(toAppError(thrown).message);
  }
  return null;
};

/** Where it is none, or is missing although there are lines, that is a flaw. */
const headFor = (files: TrailFiles, verifier: Verifier): Link | null => {
  verifier.beginFile(HEAD_NAME);
  try {
    const head = readHead(files);
    const isBegun = fullFiles(files).length > 0 || (statOf(files.file)?.size ?? 0) > 0;
    if (head === null && isBegun) verifier.flaw('the head is missing: lines may have been cut off the end');
    return head;
  } catch (thrown) {
    verifier.flaw(toAppError(thrown).message);
    return null;
  }
};

/**
 * All of it, from its first line. `noted`: lines whose hashes the operator has kept elsewhere. The head is read before
 * the files, so that a supervisor that writes meanwhile does no harm.
 */
export const judgeTrail = (files: TrailFiles, noted: readonly Link[] = []): Judged => {
  const verifier = new Verifier({ digest: sha256, after: GENESIS, isWhole: true });
  const head = headFor(files, verifier);
  verifier.expect(head === null ? [] : [head], noted);
  const before = fullFiles(files);
  for (const name of before) readFull(verifier, join(files.directory, name));
  const torn = readCurrent(verifier, files.file);
  const isSame = fullFiles(files).length === before.length;
  return isSame ? { ...verifier.end(), torn, head } : judgeTrail(files, noted);
};

export const firstLine = (descriptor: number): string => {
  for (const { text } of linesOf(descriptor)) return text;
  return '';
};

/** The file that is written begins behind a break that was acknowledged. */
export const beginsAnew = (files: TrailFiles): boolean => {
  const descriptor = openRegular(files.file, constants.O_RDONLY);
  try {
    const first = firstLine(descriptor);
    const read = readLine(first, sha256);
    return read?.isTrue === true && restartOf(first, read) !== null;
  } finally {
    closeSync(descriptor);
  }
};

/** Longer than any line of ours. */
const LAST_BYTES = 64 * 1024;

/** The last line of a file; null where it has none that is true. */
export const lastLinkOf = (path: string): Link | null => {
  const descriptor = openRegular(path, constants.O_RDONLY);
  try {
    const { size } = fstatSync(descriptor);
    const bytes = Buffer.alloc(Math.min(size, LAST_BYTES));
    readSync(descriptor, bytes, 0, bytes.length, size - bytes.length);
    const last = bytes.toString('latin1').replace(/\n$/, '').split('\n').at(-1) ?? '';
    const read = readLine(last, sha256);
    return read?.isTrue === true ? read.link : null;
  } finally {
    closeSync(descriptor);
  }
};

/** The file that is written alone: what a supervisor has to know before it goes on with it. */
export const judgeCurrent = (files: TrailFiles, head: Link, after: Link): Judged => {
  const verifier = new Verifier({ digest: sha256, after, isWhole: false });
  verifier.expect([head]);
  const torn = readInto(verifier, files.file);
  return { ...verifier.end(), torn, head };
};
