/**
 * Takes the engine's attach stream apart: frames of an 8-byte header (stream type, three zeros, length) and a payload.
 * It holds at most one header; payloads are handed on as they come, so no announced length costs memory.
 */
import type { OutputSink } from './runtime.ts';

const HEADER_BYTES = 8;
const STDOUT = 1;
const STDERR = 2;

/** Far above what any engine sends in one frame (32 KiB); a longer one is a stream that isn't multiplexed. */
export const FRAME_PAYLOAD_MAX = 16 * 1024 * 1024;

export interface Demux {
  /** Takes the next piece; false: the stream isn't what it should be, and every further piece is ignored. */
  push(chunk: Buffer): boolean;
}

interface Frame {
  readonly type: number;
  readonly bytes: number;
}

/** The frame that a header announces; null when it is no header. Pure. */
export const parseHeader = (header: Buffer): Frame | null => {
  const type = header.readUInt8(0);
  const bytes = header.readUInt32BE(4);
  const zeros = header.readUIntBE(1, 3);
  if ((type !== STDOUT && type !== STDERR) || zeros !== 0 || bytes > FRAME_PAYLOAD_MAX) return null;
  return { type, bytes };
};

class Parser implements Demux {
  readonly #sink: OutputSink;
  readonly #header = Buffer.alloc(HEADER_BYTES);
  #headerBytes = 0;
  #frame: Frame = { type: STDOUT, bytes: 0 };
  #left = 0;
  #broken = false;

  constructor(sink: OutputSink) {
    this.#sink = sink;
  }

  push(chunk: Buffer): boolean {
    let rest = chunk;
    while (rest.length > 0 && !this.#broken) {
      rest = this.#left > 0 ? this.#takePayload(rest) : this.#takeHeader(rest);
    }
    return !this.#broken;
  }

  #takePayload(rest: Buffer): Buffer {
    const payload = rest.subarray(0, this.#left);
    this.#left -= payload.length;
    if (this.#frame.type === STDOUT) this.#sink.stdout(payload);
    else this.#sink.stderr(payload);
    return rest.subarray(payload.length);
  }

  #takeHeader(rest: Buffer): Buffer {
    const piece = rest.subarray(0, HEADER_BYTES - this.#headerBytes);
    piece.copy(this.#header, this.#headerBytes);
    this.#headerBytes += piece.length;
    if (this.#headerBytes === HEADER_BYTES) this.#begin(parseHeader(this.#header));
    return rest.subarray(piece.length);
  }

  #begin(frame: Frame | null): void {
    this.#headerBytes = 0;
    this.#broken = frame === null;
    if (frame === null) return;
    this.#frame = frame;
    this.#left = frame.bytes;
  }
}

/** A parser for one attach stream; `sink` gets payloads in the order in which they came. */
export const createDemux = (sink: OutputSink): Demux => new Parser(sink);
