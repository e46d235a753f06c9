/** Makes any frame fit the protocol's bound: long texts are split or cut with a marker, transcripts are dealt out. Pure. */
import { FRAME_BYTES_MAX, type RunnerFrame, type TranscriptEntry } from '../../src/protocol.ts';

/** Room for a frame's own keys beside its payload. */
const PAYLOAD_BYTES_MAX = FRAME_BYTES_MAX - 4096;
/** One kept entry; several share a frame. */
const ENTRY_BYTES_MAX = 512 * 1024;
const ENTRIES_PER_FRAME_MAX = 200;
const IDS_PER_FRAME_MAX = 1000;
/** One UTF-16 unit takes at most 6 bytes of JSON, so a piece this long always fits. */
const TEXT_PIECE_CHARS = 64 * 1024;
/** Strings in an entry are cut to this, then to half of it and so on, until the entry fits. */
const CUT_CHARS_START = 64 * 1024;
const CUT_CHARS_MIN = 64;

const jsonBytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value), 'utf8');

/** The text cut so that its JSON takes at most `bytesMax` bytes; says how much is left out. */
export const cutText = (text: string, bytesMax: number): string => {
  let kept = text;
  for (let size = jsonBytes(kept); size > bytesMax; size = jsonBytes(kept)) {
    kept = kept.slice(0, Math.floor((kept.length * bytesMax) / size) - 64);
  }
  return kept.length === text.length ? text : `${kept}${leftOut(text.length - kept.length)}`;
};

const leftOut = (chars: number): string => `\n[… ${chars} characters left out …]`;

const cutStrings = (value: unknown, charsMax: number): unknown => {
  if (typeof value === 'string') {
    return value.length > charsMax ? `${value.slice(0, charsMax)}${leftOut(value.length - charsMax)}` : value;
  }
  if (Array.isArray(value)) return value.map((item) => cutStrings(item, charsMax));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, cutStrings(item, charsMax)]));
};

const cutContent = (content: TranscriptEntry['content'], charsMax: number): TranscriptEntry['content'] =>
  typeof content === 'string'
    ? String(cutStrings(content, charsMax))
    : content.map((part) => Object.fromEntries(Object.entries(part).map(([k, v]) => [k, cutStrings(v, charsMax)])));

/** The entry with its longest strings cut, or null where nothing short of dropping it helps. */
const fitEntry = (entry: TranscriptEntry): TranscriptEntry | null => {
  let fitted = entry;
  for (let chars = CUT_CHARS_START; jsonBytes(fitted) > ENTRY_BYTES_MAX; chars /= 2) {
    if (chars < CUT_CHARS_MIN) return null;
    fitted = { role: entry.role, content: cutContent(entry.content, chars) };
  }
  return fitted;
};

/** Deals entries out over as few frames as fit; an entry that can't be made to fit is left out. */
const transcriptFrames = (entries: readonly TranscriptEntry[]): RunnerFrame[] => {
  const frames: TranscriptEntry[][] = [];
  let bytes = PAYLOAD_BYTES_MAX;
  for (const entry of entries.map(fitEntry).filter((fitted) => fitted !== null)) {
    const size = jsonBytes(entry) + 1;
    const last = frames.at(-1);
    const fits = last !== undefined && bytes + size <= PAYLOAD_BYTES_MAX && last.length < ENTRIES_PER_FRAME_MAX;
    if (fits) last.push(entry);
    else frames.push([entry]);
    bytes = fits ? bytes + size : size;
  }
  return frames.map((chunk) => ({ type: 'transcript', entries: chunk }));
};

const pieces = (length: number, size: number): number[] =>
  Array.from({ length: Math.ceil(length / size) }, (_, index) => index * size);

/** The frames that are really written for this one; each is at most 1 MiB as a line. */
export const fitFrame = (frame: RunnerFrame): RunnerFrame[] => {
  switch (frame.type) {
    case 'text':
      return pieces(frame.delta.length, TEXT_PIECE_CHARS).map((at) => ({
        type: 'text',
        delta: frame.delta.slice(at, at + TEXT_PIECE_CHARS),
      }));
    case 'ack':
      return pieces(frame.ids.length, IDS_PER_FRAME_MAX).map((at) => ({
        type: 'ack',
        ids: frame.ids.slice(at, at + IDS_PER_FRAME_MAX),
      }));
    case 'transcript':
      return transcriptFrames(frame.entries);
    case 'result':
      return [{ type: 'result', text: cutText(frame.text, PAYLOAD_BYTES_MAX) }];
    case 'error':
      return [{ ...frame, message: frame.message.slice(0, 10_000) }];
    case 'progress':
      return [{ type: 'progress', note: frame.note.slice(0, 500) }];
    default:
      return [frame];
  }
};
