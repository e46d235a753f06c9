/**
 * Where bad things from an inbox go: a host-only directory, bounded in entries and bytes, under names of the host's
 * own, none of which is ever used twice. Content is copied, never moved: a container that still holds the file open
 * can't change or grow what is kept. Of a directory nothing is kept: only its size on disk would be evidence.
 */
import { randomUUID } from 'node:crypto';
import { basename } from 'node:path';
import type { Directory } from '../files/beneath.ts';
import type { RefusalReason } from '../files/refusal.ts';

export interface QuarantineOptions {
  /** Host-only, on the file system of the inbox. */
  readonly directory: Directory;
  /** The inbox's directory; its last name begins the names of what is kept. */
  readonly inbox: string;
  /** All inboxes together may keep so many entries; this one so many bytes. */
  readonly maxEntries: number;
  readonly maxBytes: number;
  readonly onError: (thrown: unknown) => void;
}

export interface BadFile {
  readonly box: Directory;
  readonly name: string;
  /** What was wrong with it: how it leaves the inbox depends on it. */
  readonly reason: RefusalReason | 'content';
  /** What had been read. */
  readonly bytes?: Buffer | undefined;
}

export interface Quarantine {
  /** Takes it out of the inbox: kept, or removed where there is no room. False: it is still there, as a full directory is. */
  take(file: BadFile): Promise<boolean>;
}

/** The beginning of a bad request shows what it was; all entries together stay below 64 MiB. */
const KEPT_BYTES_MAX = 64 * 1024;
/** Of one inbox: one turn must not take the room of all others. */
const OWN_ENTRIES_MAX = 100;

export const openQuarantine = async (options: QuarantineOptions): Promise<Quarantine> => {
  const { directory, inbox, maxEntries, maxBytes, onError } = options;
  let roomEntries = Math.min(OWN_ENTRIES_MAX, maxEntries - (await directory.list(maxEntries)).names.length);
  let roomBytes = maxBytes;
  const newName = (): string => `${basename(inbox)}-${randomUUID()}`;

  const keepCopy = async (whole: Buffer): Promise<void> => {
    const bytes = whole.subarray(0, KEPT_BYTES_MAX);
    if (roomEntries < 1 || roomBytes < bytes.length) return;
    roomEntries -= 1;
    roomBytes -= bytes.length;
    await directory.writeFile(newName(), bytes, { mode: 0o600 });
  };

  /** Links, FIFOs and sockets have no content; as they are, they are the evidence. */
  const moveEntry = async ({ box, name }: BadFile): Promise<boolean> => {
    if (roomEntries < 1) return (await box.remove(name)).ok;
    roomEntries -= 1;
    return (await box.move(name, directory, newName())).ok;
  };

  /**
   * A full one stays where it is and goes with the turn's inbox: moved here it would be kept whatever its size, and
   * whatever stands in it in the container could go on filling it.
   */
  const removeDirectory = async ({ box, name }: BadFile): Promise<boolean> => (await box.removeDirectory(name)).ok;

  const removeEntry = async (file: BadFile): Promise<boolean> => {
    const removed = await file.box.remove(file.name);
    if (removed.ok || removed.reason === 'missing') return true;
    return removed.reason === 'directory' ? removeDirectory(file) : false;
  };

  return {
    take: async (file) => {
      if (file.reason === 'directory') return removeDirectory(file);
      if (file.reason === 'link' || file.reason === 'special') return moveEntry(file);
      // A full disk must not keep the bad file in the inbox.
      if (file.bytes !== undefined) await keepCopy(file.bytes).catch(onError);
      return removeEntry(file);
    },
  };
};
