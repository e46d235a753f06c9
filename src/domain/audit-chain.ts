/**
 * The chain of the audit trail: how a line is sealed to the one before it, and how it is read back. A line's hash is
 * the SHA-256 of the line itself up to `,"hash":`, in which the hash of the line before stands. Lines are ASCII, so
 * that characters are bytes. Pure: hashing is handed in.
 */

/** What the next line is sealed to. */
export interface Link {
  /** 1 for the first line of a trail. */
  readonly seq: number;
  /** 64 hex digits. */
  readonly hash: string;
}

/** SHA-256 of ASCII text, 64 hex digits. */
export type Digest = (text: string) => string;

export const NO_HASH = '0'.repeat(64);
/** Before the first line. */
export const GENESIS: Link = { seq: 0, hash: NO_HASH };

/** What `seal` adds to a line's body, at most: 15 digits, two hashes and their names. */
export const SEAL_BYTES_MAX = 200;

export interface SealedLine {
  /** With its newline. */
  readonly line: string;
  readonly link: Link;
}

/** `body`: the members of a JSON object without its braces, ASCII. */
export const seal = (before: Link, body: string, digest: Digest): SealedLine => {
  const seq = before.seq + 1;
  const sealed = `{"seq":${seq},${body},"prev":"${before.hash}"`;
  const hash = digest(sealed);
  return { line: `${sealed},"hash":"${hash}"}\n`, link: { seq, hash } };
};

/** Begins a new chain behind one that is broken: linked to nothing, numbered on. */
export const sealRestart = (lastSeq: number, body: string, digest: Digest): SealedLine =>
  seal({ seq: lastSeq, hash: NO_HASH }, body, digest);

export interface ReadLine {
  readonly link: Link;
  /** The hash of the line before. */
  readonly prev: string;
  /** False: something in it isn't what was sealed. */
  readonly isTrue: boolean;
}

const LINE = /^(\{"seq":([1-9][0-9]{0,14}),"[\x20-\x7e]*,"prev":"([0-9a-f]{64})"),"hash":"([0-9a-f]{64})"\}$/;

/** null: not a line of a chained trail at all. */
export const readLine = (text: string, digest: Digest): ReadLine | null => {
  const match = LINE.exec(text);
  const [, sealed, seq, prev, hash] = match ?? [];
  if (sealed === undefined || prev === undefined || hash === undefined) return null;
  return { link: { seq: Number(seq), hash }, prev, isTrue: digest(sealed) === hash };
};

const RESTART =
  /^\{"seq":[0-9]+,"at":"[^"]*","kind":"audit-acknowledged","earlier":"([0-9a-f]{64})","why":("(?:[^"\\]|\\.)*"),/;

export interface Restart {
  /** The fingerprint of all earlier files, which it vouches for. */
  readonly earlier: string;
  /** What was found broken then. */
  readonly why: string;
}

/** null where the line, which is a true one, is no restart. */
export const restartOf = (text: string, { prev }: ReadLine): Restart | null => {
  const [, earlier, why] = RESTART.exec(text) ?? [];
  return prev === NO_HASH && earlier !== undefined && why !== undefined ? { earlier, why: JSON.parse(why) } : null;
};

/** The fingerprint of a list of files, file by file; the first is folded into `NO_HASH`. `fileHash`: of its bytes. */
export const foldFile = (fold: string, file: { name: string; fileHash: string }, digest: Digest): string =>
  digest(`${fold}\n${file.name}\n${file.fileHash}`);
