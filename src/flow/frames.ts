/**
 * Reads a container's stdout as frames. Decoded bytewise and bounded: a line over 1 MiB, or more lines or bytes than
 * a turn may print, ends the reading for good. What isn't a frame is noise: handed on bounded, never acted on.
 */
import { FRAME_BYTES_MAX, RunnerFrame } from '../protocol.ts';
import { isSimple } from './json-shape.ts';

/** All that one turn may print. A turn's transcript is bounded far below it. */
export const TURN_OUTPUT_BYTES_MAX = 64 * 1024 * 1024;
/** Lines of one turn, empty ones included: each costs the event loop a little, and text is sent in pieces of 50 ms. */
export const TURN_LINES_MAX = 100_000;
const NOISE_CHARS_MAX = 500;
/** Of one frame: twice what the fullest transcript frame of the runner has, and some 20 ms to parse and check. */
const SHAPE_BOUNDS = { depth: 64, parts: 10_000 } as const;
const NEWLINE = 0x0a;
const DECODER = new TextDecoder('utf-8', { fatal: false });

export interface FrameSink {
  frame(frame: RunnerFrame): void;
  /** A line that isn't a frame, cut to 500 characters; unescaped. */
  noise(line: string): void;
  /** Called once; nothing is called after it. */
  overflow(detail: string): void;
}

const parseLine = (line: string): RunnerFrame | null => {
  try {
    const parsed = RunnerFrame.safeParse(JSON.parse(line));
    return parsed.success ? parsed.data : null;
  } catch {
    return null; // Not JSON: the caller treats it as noise.
  }
};

/** A whole line: a frame, noise, or nothing. */
const handOn = (bytes: Buffer, sink: FrameSink): void => {
  const line = DECODER.decode(bytes).trim();
  if (line === '') return;
  const frame = isSimple(bytes, SHAPE_BOUNDS) ? parseLine(line) : null;
  if (frame === null) sink.noise(line.slice(0, NOISE_CHARS_MAX));
  else sink.frame(frame);
};

/**
 * Returns the function that takes the stream's chunks; it never throws. It stops after a line where there is no more
 * time, and says how many bytes of the chunk it has taken.
 */
export const createFrameReader = (sink: FrameSink): ((chunk: Buffer, hasTime?: () => boolean) => number) => {
  let pieces: Buffer[] = [];
  let pending = 0;
  let total = 0;
  let lines = 0;
  let over = false;

  const overflow = (detail: string): void => {
    if (over) return;
    over = true;
    pieces = [];
    sink.overflow(detail);
  };

  const endLine = (): void => {
    lines += 1;
    const bytes = Buffer.concat(pieces);
    pieces = [];
    pending = 0;
    handOn(bytes, sink);
  };

  const keep = (piece: Buffer): void => {
    pending += piece.length;
    if (pending > FRAME_BYTES_MAX) overflow(`a line of more than ${FRAME_BYTES_MAX} bytes`);
    else pieces.push(piece);
  };

  const count = (bytes: number): number => {
    total += bytes;
    if (total > TURN_OUTPUT_BYTES_MAX) overflow(`more than ${TURN_OUTPUT_BYTES_MAX} bytes of output`);
    return bytes;
  };

  return (chunk, hasTime = () => true) => {
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at !== -1 && !over; at = chunk.indexOf(NEWLINE, from)) {
      keep(chunk.subarray(from, at));
      if (!over) endLine();
      if (lines > TURN_LINES_MAX) overflow(`more than ${TURN_LINES_MAX} lines of output`);
      from = at + 1;
      if (!hasTime()) return count(from);
    }
    if (!over && from < chunk.length) keep(Buffer.from(chunk.subarray(from)));
    return count(chunk.length);
  };
};
