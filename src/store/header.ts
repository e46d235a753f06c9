/**
 * What the first hundred bytes of a database file say about the rest. SQLite itself notices neither a file cut to
 * nothing nor one whose last page is cut, and would write to both.
 */
import { closeSync, existsSync, openSync, readSync, statSync } from 'node:fs';

const MAGIC = Buffer.from('SQLite format 3\0');
const HEADER_BYTES = 100;
/** As https://www.sqlite.org/fileformat.html has them. */
const AT = { pageSize: 16, changes: 24, pages: 28, changesWhenCounted: 92 } as const;
/** Stored as 1, because it doesn't fit. */
const LARGEST_PAGE = 65_536;

const readHeader = (file: string): Buffer => {
  const header = Buffer.alloc(HEADER_BYTES);
  const descriptor = openSync(file, 'r');
  try {
    return header.subarray(0, readSync(descriptor, header, 0, header.length, 0));
  } finally {
    closeSync(descriptor);
  }
};

const sizeOf = (file: string): number => (existsSync(file) ? statSync(file).size : 0);

/** Commits that are not in the file itself yet. */
export const hasWal = (file: string): boolean => sizeOf(`${file}-wal`) > 0;

/** null: as far as its header and its size tell, it is a whole database. */
export const headerTrouble = (file: string): string | null => {
  const size = sizeOf(file);
  if (size === 0) return 'it is empty';
  const header = readHeader(file);
  if (header.length < HEADER_BYTES || !header.subarray(0, MAGIC.length).equals(MAGIC)) {
    return 'it begins otherwise than a database does';
  }
  // With commits beside it the count of pages may be ahead of the file; and old writers don't keep it.
  const isCounted = header.readUInt32BE(AT.changes) === header.readUInt32BE(AT.changesWhenCounted);
  if (hasWal(file) || !isCounted) return null;
  const stored = header.readUInt16BE(AT.pageSize);
  const whole = header.readUInt32BE(AT.pages) * (stored === 1 ? LARGEST_PAGE : stored);
  return size >= whole ? null : `it is cut short: ${size} bytes of ${whole}`;
};
