/**
 * The end of the trail, open for the next line. Invariants: nothing is appended to a trail whose file is not what was
 * left there; a full file is closed whole and the next one is chained to it.
 */
import { closeSync, constants, fchmodSync, fdatasyncSync, fstatSync, ftruncateSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { GENESIS, type Link, readLine } from '../domain/audit-chain.ts';
import { AppError } from '../errors.ts';
import { settle, type Tail } from './append.ts';
import { beginsAnew, firstLine, type Judged, judgeCurrent, lastLinkOf, type Torn } from './check.ts';
import {
  fullFiles,
  makeDirectory,
  nextFullFile,
  openHead,
  openRegular,
  readHead,
  settleHead,
  sha256,
  statOf,
  syncDirectory,
  type TrailFiles,
} from './files.ts';

const { O_APPEND, O_CREAT, O_EXCL, O_RDONLY, O_RDWR } = constants;

/** What opening it has found that belongs on record. */
export interface Opened {
  readonly tail: Tail;
  /** Cut off: half a line that a dead process left behind the last whole one. */
  readonly torn: Torn | null;
  /** Lines from before there was a chain, under a name of their own now. */
  readonly adopted: { readonly name: string; readonly bytes: number } | null;
}

const MEND =
  'tierclaw audit verify shows what is broken; then: tierclaw down, tierclaw audit acknowledge --yes, tierclaw up';

const broken = (what: string): AppError =>
  new AppError({ code: 'audit', message: `the audit trail is broken: ${what}`, hint: MEND });

/** Where the chain stands at the end of the full files. */
const linkBefore = (files: TrailFiles): Link => {
  const last = fullFiles(files).at(-1);
  if (last === undefined) return GENESIS;
  const link = lastLinkOf(join(files.directory, last));
  if (link === null) throw broken(`${last}: its last line was changed or cut`);
  return link;
};

const place = ({ file, line }: { file: string; line: number | null }): string =>
  line === null ? file : `${file}:${line}`;

const judge = (files: TrailFiles, head: Link): Judged => {
  const judged = judgeCurrent(files, head, beginsAnew(files) ? GENESIS : linkBefore(files));
  const [flaw] = judged.flaws;
  if (flaw !== undefined) throw broken(`${place(flaw)}: ${flaw.what}`);
  return judged;
};

const newest = (a: Link, b: Link | null): Link => (b !== null && b.seq > a.seq ? b : a);

const isBegun = (files: TrailFiles): boolean => (statOf(files.file)?.size ?? 0) > 0 || fullFiles(files).length > 0;

const noHead = ({ head }: TrailFiles): AppError => broken(`${head} is missing: lines may have been cut off the end`);

/** The newest line that is known to have been written. A trail that begins has the head of no line. */
const headOf = (files: TrailFiles, known: Link | null): Link => {
  const head = readHead(files);
  if (head !== null) return newest(head, known);
  if (known !== null || isBegun(files)) throw noHead(files);
  settleHead(files, GENESIS);
  return GENESIS;
};

/** A trail of a version that didn't chain: its file has lines, and none of them is sealed. */
export const isUnchained = (files: TrailFiles): boolean => {
  if (statOf(files.head) !== null || fullFiles(files).length > 0) return false;
  if ((statOf(files.file)?.size ?? 0) === 0) return false;
  const descriptor = openRegular(files.file, O_RDONLY);
  try {
    return readLine(firstLine(descriptor), sha256) === null;
  } finally {
    closeSync(descriptor);
  }
};

export const UNCHAINED_NAME = 'unchained.jsonl';

/** Kept as it is, under a name that says that nothing protects it. */
const adopt = (files: TrailFiles): Opened['adopted'] => {
  if (!isUnchained(files)) return null;
  const [bytes, kept] = [statOf(files.file)?.size ?? 0, join(files.directory, UNCHAINED_NAME)];
  if (statOf(kept) !== null) throw broken(`${files.file} has no chain, and ${kept} is there already`);
  renameSync(files.file, kept);
  return { name: UNCHAINED_NAME, bytes };
};

const create = (files: TrailFiles): number => {
  const descriptor = openRegular(files.file, O_RDWR | O_APPEND | O_CREAT | O_EXCL);
  syncDirectory(dirname(files.file));
  return descriptor;
};

interface Written {
  readonly descriptor: number;
  readonly size: number;
  readonly link: Link;
  readonly torn: Torn | null;
}

/** There is no file, which is right only where the last one has just become full, or none was ever written. */
const endOfFull = (files: TrailFiles, head: Link): Link => {
  const link = linkBefore(files);
  if (link.seq >= head.seq) return link;
  throw broken(`${files.file} is missing, and lines number ${link.seq + 1}–${head.seq} with it`);
};

const begin = (files: TrailFiles, head: Link): Written => {
  const link = endOfFull(files, head);
  return { descriptor: create(files), size: 0, link, torn: null };
};

const goOn = (files: TrailFiles, head: Link): Written => {
  const descriptor = openRegular(files.file, O_RDWR | O_APPEND);
  try {
    const { last: link, torn } = judge(files, head);
    fchmodSync(descriptor, 0o600);
    const size = fstatSync(descriptor).size - (torn?.bytes ?? 0);
    if (torn !== null) ftruncateSync(descriptor, size);
    return { descriptor, size, link, torn };
  } catch (thrown) {
    closeSync(descriptor);
    throw thrown;
  }
};

/**
 * `known`: the last line that this process has written, where it has. Throws AppError `audit` where the trail is broken,
 * a system error where it can't be used.
 */
export const openTail = (files: TrailFiles, known: Link | null): Opened => {
  makeDirectory(files);
  const adopted = known === null ? adopt(files) : null;
  const head = headOf(files, known);
  const { descriptor, size, link, torn } = statOf(files.file) === null ? begin(files, head) : goOn(files, head);
  const headDescriptor = openHead(files);
  const tail = { descriptor, headDescriptor, size, link, settled: link.seq, closed: false };
  return { tail, torn, adopted };
};

/** As `openTail` would judge it, without changing anything; null: there is no file now. */
export const inspectTail = (files: TrailFiles): Judged | null => {
  const head = readHead(files);
  if (head === null && isBegun(files)) throw noHead(files);
  if (head !== null && statOf(files.file) !== null) return judge(files, head);
  endOfFull(files, head ?? GENESIS);
  return null;
};

export const closeTail = (tail: Tail): void => {
  try {
    settle(tail);
  } finally {
    tail.closed = true;
    closeSync(tail.descriptor);
    closeSync(tail.headDescriptor);
  }
};

/** Somebody else's hand: throws AppError `audit` where what lies under the name isn't what was left there. */
export const checkPlace = (files: TrailFiles, { descriptor, size }: Tail): void => {
  const [named, open] = [statOf(files.file), fstatSync(descriptor)];
  if (named === null) throw broken(`${files.file} was removed while it was written`);
  if (named.ino !== open.ino || named.dev !== open.dev) throw broken(`${files.file} was replaced while it was written`);
  if (open.size !== size) throw broken(`${files.file} has ${open.size} bytes; ${size} were written`);
};

/** Closes a full file; the next one begins. */
export const rotate = (files: TrailFiles, tail: Tail): void => {
  settle(tail);
  fdatasyncSync(tail.headDescriptor);
  renameSync(files.file, nextFullFile(files));
  const full = tail.descriptor;
  tail.descriptor = create(files);
  tail.size = 0;
  closeSync(full);
  syncDirectory(files.directory);
};
