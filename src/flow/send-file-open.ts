/**
 * Opens a file for a container as its own user could: the host reads more than an agent may, and must not lend it that.
 * Walks from the mount's root, one component at a time, never through a link; the mode bits are asked at each step.
 */
import type { Stats } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { OpenedFile } from '../files/at.ts';
import { type Directory, openDirectory } from '../files/beneath.ts';
import { type Found, refusal } from '../files/refusal.ts';
import type { FilePlace } from './send-file-place.ts';

/** Every level holds a descriptor while it is walked. */
const DEPTH_MAX = 64;
const READ = 4;
const SEARCH = 1;

export interface Reader {
  /** uid and gid of the container's processes, which have no other groups and no capabilities. */
  readonly uid: number;
  readonly maxBytes: number;
}

/** The class of mode bits that the kernel would look at: owner's, group's or everybody's. */
const mayUse = ({ uid, gid, mode }: Stats, reader: number, bit: number): boolean => {
  if (uid === reader) return ((mode >> 6) & bit) !== 0;
  return ((gid === reader ? mode >> 3 : mode) & bit) !== 0;
};

const openLeaf = async (at: Directory, name: string, { uid, maxBytes }: Reader): Promise<Found<OpenedFile>> => {
  const opened = await at.openFile([name], maxBytes);
  if (!opened.ok || mayUse(await opened.value.handle.stat(), uid, READ)) return opened;
  await opened.value.handle.close();
  return refusal('denied', name, 'this agent may not read it');
};

const descend = async (at: Directory, names: FilePlace['names'], reader: Reader): Promise<Found<OpenedFile>> => {
  const [first, second, ...rest] = names;
  // The descriptor's path leads to the very directory that was opened.
  if (!mayUse(await stat(at.descriptorPath), reader.uid, SEARCH)) {
    return refusal('denied', first, 'this agent may not enter its directory');
  }
  if (second === undefined) return openLeaf(at, first, reader);
  const next = await at.openDirectory([first]);
  if (!next.ok) return next;
  try {
    return await descend(next.value, [second, ...rest], reader);
  } finally {
    await next.value.close();
  }
};

/** The caller closes the handle. Throws AppError `refused` when the mount's own directory is gone. */
export const openAsReader = async ({ mount, names }: FilePlace, reader: Reader): Promise<Found<OpenedFile>> => {
  if (names.length > DEPTH_MAX) return refusal('name', names[0], `deeper than ${DEPTH_MAX} directories`);
  const root = await openDirectory(mount.source);
  try {
    return await descend(root, names, reader);
  } finally {
    await root.close();
  }
};
