/**
 * One container's output on its way to the frame reader: read at once where there is time, else kept for a moment, in
 * order. What waits is bounded, and so is the time that one turn's output may cost; more ends the reading for good.
 */
import type { Pace, Work } from './pace.ts';

/** Twice what a turn may keep of its conversation. */
export const WAITING_BYTES_MAX = 8 * 1024 * 1024;
/** An honest turn's frames take some tenths of a second. */
export const READING_MS_MAX = 5_000;

/** Takes bytes from the beginning while `hasTime`, at least one line of them; says how many. */
export type SlicedRead = (chunk: Buffer, hasTime: () => boolean) => number;

export interface PacedReader {
  push(chunk: Buffer): void;
  /** Resolves when nothing waits. */
  settled(): Promise<void>;
  /** Throws away what waits, and what comes. */
  discard(): void;
}

export interface PacedReaderOptions {
  readonly pace: Pace;
  readonly read: SlicedRead;
  /** Called once; nothing is read after it. */
  readonly overflow: (detail: string) => void;
  /** Milliseconds that never run backwards. */
  readonly clock: () => number;
}

class Reader implements PacedReader {
  readonly #options: PacedReaderOptions;
  #waiting: Buffer[] = [];
  #bytes = 0;
  #spentMs = 0;
  #over = false;
  #wakers: (() => void)[] = [];

  constructor(options: PacedReaderOptions) {
    this.#options = options;
  }

  push(chunk: Buffer): void {
    if (this.#over || chunk.length === 0) return;
    this.#bytes += chunk.length;
    this.#waiting.push(chunk);
    if (this.#bytes > WAITING_BYTES_MAX)
      this.#end(`more than ${WAITING_BYTES_MAX} bytes of output that wait to be read`);
    else this.#options.pace.ask(this.#work);
  }

  settled(): Promise<void> {
    return this.#waiting.length === 0 ? Promise.resolve() : new Promise((resolve) => this.#wakers.push(resolve));
  }

  discard(): void {
    this.#over = true;
    this.#waiting = [];
    this.#options.pace.forget(this.#work);
    this.#wake();
  }

  /** One and the same function at every call, by which the pace knows it. */
  readonly #work: Work = (hasTime) => {
    const { clock } = this.#options;
    const from = clock();
    this.#readSome(hasTime);
    this.#spentMs += clock() - from;
    if (this.#spentMs > READING_MS_MAX && !this.#over) {
      this.#end(`output that takes more than ${READING_MS_MAX} ms to read`);
    }
    if (this.#waiting.length === 0) this.#wake();
    return this.#waiting.length > 0;
  };

  #readSome(hasTime: () => boolean): void {
    const chunks = this.#waiting;
    this.#waiting = [];
    let at = 0;
    for (let chunk = chunks[at]; chunk !== undefined && hasTime() && !this.#over; chunk = chunks[at]) {
      const taken = this.#options.read(chunk, hasTime);
      this.#bytes -= taken;
      if (taken === chunk.length) at += 1;
      else chunks[at] = chunk.subarray(taken);
    }
    if (!this.#over) this.#waiting = at === 0 ? chunks : chunks.slice(at);
  }

  #end(detail: string): void {
    this.discard();
    this.#options.overflow(detail);
  }

  #wake(): void {
    const woken = this.#wakers;
    this.#wakers = [];
    for (const wake of woken) wake();
  }
}

export const createPacedReader = (options: PacedReaderOptions): PacedReader => new Reader(options);
