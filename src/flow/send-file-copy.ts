/**
 * Copies a checked file to a place of the host's own, piece by piece: memory stays bounded by one piece, and the event
 * loop is held for no longer than a piece is hashed. A file that changes meanwhile is refused.
 */
import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import type { OpenedFile } from '../files/at.ts';
import { type Found, found, refusal } from '../files/refusal.ts';

const PIECE_BYTES = 256 * 1024;
const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;

export interface Copied {
  readonly bytes: number;
  /** Hex. */
  readonly sha256: string;
}

/** What shows that it was written to. A container can set times back; then it has only fooled itself. */
const stateOf = async (handle: FileHandle): Promise<string> => {
  const { size, mtimeNs } = await handle.stat({ bigint: true });
  return `${size} ${mtimeNs}`;
};

/** At most one byte more than the file had when it was checked. */
const pump = async ({ handle, size }: OpenedFile, to: FileHandle): Promise<Copied> => {
  const hash = createHash('sha256');
  const piece = Buffer.alloc(Math.min(PIECE_BYTES, size + 1));
  let bytes = 0;
  while (bytes <= size) {
    const { bytesRead } = await handle.read(piece, 0, Math.min(piece.length, size + 1 - bytes), bytes);
    if (bytesRead === 0) break;
    const part = piece.subarray(0, bytesRead);
    hash.update(part);
    await to.writeFile(part); // At the position where the last piece ended.
    bytes += bytesRead;
  }
  return { bytes, sha256: hash.digest('hex') };
};

/** Makes the file `target`, 0600. What it holds after a refusal or an error is the caller's to remove. */
export const copyOut = async (from: OpenedFile, target: string, name: string): Promise<Found<Copied>> => {
  const to = await open(target, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
  try {
    const before = await stateOf(from.handle);
    const copied = await pump(from, to);
    const isSame = copied.bytes === from.size && before === (await stateOf(from.handle));
    return isSame ? found(copied) : refusal('changed', name, 'changed while it was read; send it when it is finished');
  } finally {
    await to.close();
  }
};
