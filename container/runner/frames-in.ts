/** Frames from the host on stdin. Lines are cut bytewise and bounded, so half a character or a huge line breaks nothing. */
import type { Readable } from 'node:stream';
import { FRAME_BYTES_MAX, HostFrame, INIT_BYTES_MAX } from '../../src/protocol.ts';

const NEWLINE = 0x0a;

/** Cuts a byte stream into lines; `push` throws a RangeError once a line is longer than the current bound. */
export class LineDecoder {
  #parts: Buffer[] = [];
  #bytes = 0;
  /** Longest line accepted from now on, newline included, in bytes. */
  bytesMax: number;

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax;
  }

  *push(chunk: Buffer): Generator<string> {
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, from)) {
      this.#keep(chunk.subarray(from, at));
      from = at + 1;
      yield this.#take();
    }
    this.#keep(chunk.subarray(from));
  }

  #keep(part: Buffer): void {
    this.#bytes += part.length;
    if (this.#bytes >= this.bytesMax) throw new RangeError(`a line of more than ${this.bytesMax} bytes`);
    if (part.length > 0) this.#parts.push(part);
  }

  #take(): string {
    const line = Buffer.concat(this.#parts, this.#bytes).toString('utf8');
    this.#parts = [];
    this.#bytes = 0;
    return line;
  }
}

export type ParsedFrame =
  | { readonly ok: true; readonly frame: HostFrame }
  | { readonly ok: false; readonly why: string };

/** One line → frame, or why it is none. */
export const parseHostFrame = (line: string): ParsedFrame => {
  const json = parseJson(line);
  if (json === undefined) return { ok: false, why: 'not JSON' };
  const parsed = HostFrame.safeParse(json);
  if (parsed.success) return { ok: true, frame: parsed.data };
  const issue = parsed.error.issues[0];
  return { ok: false, why: `${issue?.path.join('.') || 'frame'}: ${issue?.message ?? 'invalid'}` };
};

const parseJson = (line: string): unknown => {
  try {
    return JSON.parse(line);
  } catch {
    // Whatever is wrong with it, the caller's answer is the same: not a frame.
    return undefined;
  }
};

export interface FrameHandlers {
  frame(frame: HostFrame): void;
  /** Something that is no frame; before `init` nothing good can follow. */
  broken(why: string): void;
  /** The host's end is gone. */
  end(): void;
}

/** Reads frames until the stream ends. The large bound holds until `init` has come in, the small one after it. */
export const readFrames = (stdin: Readable, handlers: FrameHandlers): void => {
  const decoder = new LineDecoder(INIT_BYTES_MAX);
  const take = (line: string): void => {
    const parsed = parseHostFrame(line);
    if (!parsed.ok) {
      handlers.broken(parsed.why);
      return;
    }
    if (parsed.frame.type === 'init') decoder.bytesMax = FRAME_BYTES_MAX;
    handlers.frame(parsed.frame);
  };
  stdin.on('data', (chunk: Buffer) => {
    try {
      for (const line of decoder.push(chunk)) take(line);
    } catch (thrown) {
      stdin.removeAllListeners('data');
      handlers.broken(thrown instanceof Error ? thrown.message : String(thrown));
    }
  });
  stdin.once('end', () => handlers.end());
  stdin.once('error', () => handlers.end());
};
