/**
 * Finds secrets in texts and in streams of bytes, in every form in which they are ordinarily written, and takes them
 * out. One pass over the bytes, however many secrets there are.
 */

/** A shorter value would be found in ordinary words and numbers, and make every text unreadable. */
const REDACT_LENGTH_MIN = 6;
const REDACTED = '[redacted]';
const MARK = Buffer.from(REDACTED);

/** Takes secrets out of a stream of bytes, also where one is split over chunks. */
export interface ChunkFilter {
  /** What may be passed on now; bytes that may be the beginning of a secret are kept back until the next call. */
  push(chunk: Uint8Array): Buffer;
  /** What was kept back. */
  end(): Buffer;
}

export interface Finder {
  /** The text with every secret replaced. */
  redact(text: string): string;
  filter(): ChunkFilter;
}

/**
 * What base64 makes of a value wherever it begins: after 0, 1 or 2 bytes of a group (`user:` of HTTP Basic comes
 * first). The letters that hold bits of the neighbours are left out.
 */
const base64Forms = (value: string): string[] => {
  const bytes = Buffer.from(value);
  const aligned = [0, 1, 2].map((before) => {
    const letters = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
    const first = Math.ceil((before * 8) / 6);
    return letters.slice(first, Math.floor(((before + bytes.length) * 8) / 6));
  });
  return [...aligned, ...aligned.map((letters) => letters.replaceAll('+', '-').replaceAll('/', '_'))];
};

const urlForm = (value: string): string[] => {
  try {
    return [encodeURIComponent(value)];
  } catch {
    return []; // Half a surrogate pair has no such form.
  }
};

/** The value and the forms in which JSON, URLs and HTTP's own authentication carry it. */
const writtenForms = (value: string): string[] => [
  value,
  JSON.stringify(value).slice(1, -1),
  ...urlForm(value),
  ...base64Forms(value).filter((form) => form.length >= REDACT_LENGTH_MIN),
];

/** Needles by their first two bytes, longest first; `mask` says at once that no needle begins like this. */
interface Index {
  readonly mask: Uint8Array;
  readonly byPair: ReadonlyMap<number, readonly Buffer[]>;
  /** By the first byte alone, for the last one of a chunk. */
  readonly firsts: ReadonlySet<number>;
}

const PAIRS = 65_536;

const indexOf = (needles: readonly Buffer[]): Index => {
  const mask = new Uint8Array(PAIRS);
  const byPair = new Map<number, Buffer[]>();
  for (const needle of needles) {
    const pair = needle.readUInt16BE(0);
    mask[pair] = 1;
    byPair.set(pair, [...(byPair.get(pair) ?? []), needle]);
  }
  return { mask, byPair, firsts: new Set(needles.map(([first = 0]) => first)) };
};

/** The bytes from `at` on are the beginning of that needle, all of it if they are long enough. */
const agrees = (bytes: Buffer, at: number, needle: Buffer): boolean => {
  const size = Math.min(needle.length, bytes.length - at);
  return bytes.compare(needle, 0, size, at, at + size) === 0;
};

/** The needle at that place; `open`: the bytes end before a longer one that may begin here does. */
const lookAt = (bytes: Buffer, at: number, candidates: readonly Buffer[]): Buffer | 'open' | null => {
  const found = candidates.find((needle) => agrees(bytes, at, needle));
  if (found === undefined) return null;
  return found.length > bytes.length - at ? 'open' : found;
};

const NONE: readonly Buffer[] = [];

/** The next place where a needle may begin, else the last byte's: what almost every byte goes through, and no more. */
const nextPlace = (bytes: Buffer, from: number, mask: Uint8Array): number => {
  const last = bytes.length - 1;
  let at = from;
  while (at < last && mask[((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0)] === 0) at += 1;
  return at;
};

interface Scanned {
  readonly clean: Buffer;
  /** The beginning of a needle, maybe; empty where nothing more is to come. */
  readonly kept: Buffer;
}

const scan = (bytes: Buffer, index: Index, isLast: boolean): Scanned => {
  const pieces: Buffer[] = [];
  let from = 0;
  let at = nextPlace(bytes, 0, index.mask);
  const end = (until: number): Scanned => {
    const tail = bytes.subarray(from, until);
    return { clean: pieces.length === 0 ? tail : Buffer.concat([...pieces, tail]), kept: bytes.subarray(until) };
  };
  while (at + 1 < bytes.length) {
    const pair = ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0);
    const candidates = index.byPair.get(pair) ?? NONE;
    const rest = bytes.length - at;
    const found = lookAt(bytes, at, isLast ? candidates.filter(({ length }) => length <= rest) : candidates);
    if (found === 'open') return end(at);
    if (found !== null) {
      pieces.push(bytes.subarray(from, at), MARK);
      from = at + found.length;
    }
    at = nextPlace(bytes, found === null ? at + 1 : from, index.mask);
  }
  return end(!isLast && at < bytes.length && index.firsts.has(bytes[at] ?? 0) ? at : bytes.length);
};

/** The same bytes, not copied. */
const viewOf = (chunk: Uint8Array): Buffer => Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);

const chunkFilter = (index: Index | null): ChunkFilter => {
  const state: { kept: Buffer } = { kept: Buffer.alloc(0) };
  const take = (bytes: Buffer, isLast: boolean): Buffer => {
    if (index === null) return bytes;
    const { clean, kept } = scan(bytes, index, isLast);
    state.kept = kept;
    return clean;
  };
  return {
    push: (chunk) => take(state.kept.length === 0 ? viewOf(chunk) : Buffer.concat([state.kept, chunk]), false),
    end: () => take(state.kept, true),
  };
};

const escapeForRegExp = (text: string): string => text.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&');

/** Finds all values of six characters or more. */
export const createFinder = (values: Iterable<string>): Finder => {
  const forms = new Set([...values].filter((value) => value.length >= REDACT_LENGTH_MIN).flatMap(writtenForms));
  // Longest first: a secret that contains another one must go as a whole.
  const needles = [...forms].sort((a, b) => b.length - a.length);
  if (needles.length === 0) return { redact: (text) => text, filter: () => chunkFilter(null) };
  const index = indexOf(needles.map((needle) => Buffer.from(needle)).sort((a, b) => b.length - a.length));
  const pattern = new RegExp(needles.map(escapeForRegExp).join('|'), 'g');
  return { redact: (text) => text.replace(pattern, REDACTED), filter: () => chunkFilter(index) };
};
