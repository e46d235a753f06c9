/** Database files that appear under their name whole, and whose unfinished forerunners leave nothing behind. */
import { closeSync, fsyncSync, linkSync, openSync, renameSync, rmSync } from 'node:fs';
import { ulid } from 'ulid';

/** On disk first, then renamed: whoever opens `target` finds the old file or the whole new one. */
export const settleInto = (temporary: string, target: string): void => {
  const descriptor = openSync(temporary, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  renameSync(temporary, target);
};

/** What SQLite puts beside a database file. */
export const SIDECARS = ['-journal', '-wal', '-shm'] as const;

/** A database file and what SQLite may have put beside it; missing ones don't matter. */
export const discard = (file: string): void => {
  for (const suffix of ['', ...SIDECARS]) rmSync(`${file}${suffix}`, { force: true });
};

/** `target` becomes another name of `file`, in one step also where it exists. Both must be on one file system. */
export const linkInto = (file: string, target: string): void => {
  const temporary = `${target}.${ulid()}.tmp`;
  linkSync(file, temporary);
  try {
    renameSync(temporary, target);
  } finally {
    // rename does nothing where both are names of the same file already.
    rmSync(temporary, { force: true });
  }
};
