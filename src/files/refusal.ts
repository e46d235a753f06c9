/**
 * Why a thing in a directory that a container can write was left alone. Refusals are values: a planted link is an
 * expected sight there, never an exception.
 */
import type { Stats } from 'node:fs';

export type RefusalReason =
  /** The name itself: empty, `.`, `..`, with a slash or NUL, too long, or a path of too many names. */
  | 'name'
  | 'missing'
  | 'link'
  | 'not-a-directory'
  | 'directory'
  /** FIFO, socket or device. */
  | 'special'
  | 'hard-link'
  | 'too-large'
  /** It grew or shrank while it was read. */
  | 'changed'
  | 'exists'
  | 'not-empty'
  | 'denied';

export interface Refusal {
  readonly ok: false;
  readonly reason: RefusalReason;
  /** For people: names what was found and what is allowed; the name in it is JSON-escaped and bounded. */
  readonly detail: string;
}

export type Found<T> = { readonly ok: true; readonly value: T } | Refusal;

export const found = <T>(value: T): Found<T> => ({ ok: true, value });

/** A name chosen by a stranger, fit for a log line. */
export const shown = (name: string): string => JSON.stringify(name.length > 100 ? `${name.slice(0, 100)}…` : name);

export const refusal = (reason: RefusalReason, name: string, what: string): Refusal => ({
  ok: false,
  reason,
  detail: `${shown(name)}: ${what}`,
});

const BY_ERRNO: Readonly<Record<string, readonly [RefusalReason, string]>> = {
  ENOENT: ['missing', 'not there'],
  ELOOP: ['link', 'a symbolic link, which is never followed'],
  ENOTDIR: ['not-a-directory', 'not a real directory'],
  EISDIR: ['directory', 'a directory'],
  ENXIO: ['special', 'not a regular file'],
  ENODEV: ['special', 'not a regular file'],
  EEXIST: ['exists', 'already there'],
  ENOTEMPTY: ['not-empty', 'a directory that is not empty'],
  EACCES: ['denied', 'permission denied'],
  EPERM: ['denied', 'permission denied'],
  EAGAIN: ['denied', 'held by a lease'],
  ENAMETOOLONG: ['name', 'a name that is too long'],
};

/** Turns what a hostile directory can cause into a refusal; anything else (EIO, EMFILE, ENOSPC …) is thrown on. */
export const refusalOf = (thrown: unknown, name: string): Refusal => {
  const code = thrown instanceof Error && 'code' in thrown ? thrown.code : undefined;
  const known = typeof code === 'string' ? BY_ERRNO[code] : undefined;
  if (known === undefined) throw thrown;
  return refusal(known[0], name, known[1]);
};

const NAME_BYTES_MAX = 255;

/** One component of a path, as a directory entry may be called. */
export const checkName = (name: string): Refusal | null => {
  if (name === '' || name === '.' || name === '..') return refusal('name', name, 'not the name of an entry');
  if (name.includes('/') || name.includes('\0')) return refusal('name', name, 'a name has no slash and no NUL');
  if (Buffer.byteLength(name) > NAME_BYTES_MAX) return refusal('name', name, `longer than ${NAME_BYTES_MAX} bytes`);
  return null;
};

/** A regular file with exactly one link and at most that many bytes, else why not. */
export const checkFile = (stats: Stats, name: string, maxBytes: number): Refusal | null => {
  if (stats.isSymbolicLink()) return refusal('link', name, 'a symbolic link, which is never followed');
  if (stats.isDirectory()) return refusal('directory', name, 'a directory');
  if (!stats.isFile()) return refusal('special', name, 'not a regular file');
  if (stats.nlink === 0) return refusal('missing', name, 'not there');
  if (stats.nlink !== 1) return refusal('hard-link', name, `has ${stats.nlink} hard links; one is allowed`);
  if (stats.size > maxBytes) return refusal('too-large', name, `${stats.size} bytes; at most ${maxBytes} are allowed`);
  return null;
};
