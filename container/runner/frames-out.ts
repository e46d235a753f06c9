/** Frames to the host. One writer owns stdout: a line is begun only after the one before it was taken. */
import { Console } from 'node:console';
import { encodeFrame, type RunnerFrame } from '../../src/protocol.ts';
import { fitFrame } from './frame-size.ts';

/** Takes one whole line and calls back when it has been handed to the system. */
export type LineSink = (line: string, done: (error?: Error | null) => void) => void;

export class FrameWriter {
  readonly #sink: LineSink;
  #last: Promise<void> = Promise.resolve();

  constructor(sink: LineSink) {
    this.#sink = sink;
  }

  /** Resolves when the frame was taken; waiting for it is the backpressure. Rejects when stdout is gone. */
  send(frame: RunnerFrame): Promise<void> {
    for (const fitted of fitFrame(frame)) this.#last = this.#last.then(() => this.#write(encodeFrame(fitted)));
    // The chain's failure is seen by whoever waits; nobody has to.
    this.#last.catch(() => undefined);
    return this.#last;
  }

  #write(line: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#sink(line, (error) => (error ? reject(error) : resolve()));
    });
  }
}

/** Makes stdout ours alone: what a library prints goes to stderr from now on. Returns the only way left to stdout. */
export const takeStdout = (process: NodeJS.Process): LineSink => {
  const stdout = process.stdout;
  const write = stdout.write.bind(stdout);
  stdout.write = process.stderr.write.bind(process.stderr);
  globalThis.console = new Console(process.stderr, process.stderr);
  return (line, done) => {
    write(line, 'utf8', done);
  };
};

/** A text waits this long for more before it becomes a frame. */
const COALESCE_MS = 50;
/** Or until this much has gathered, in UTF-16 units. */
const COALESCE_CHARS = 4096;

/** Gathers the model's small pieces of text into fewer frames. */
export class TextStream {
  readonly #writer: FrameWriter;
  #gathered = '';
  #timer: NodeJS.Timeout | undefined;
  #sent: Promise<void> = Promise.resolve();

  constructor(writer: FrameWriter) {
    this.#writer = writer;
  }

  /** Resolves once earlier frames were taken, so that a slow host slows the model's stream. */
  async push(delta: string): Promise<void> {
    this.#gathered += delta;
    if (this.#gathered.length >= COALESCE_CHARS) return this.flush();
    this.#timer ??= setTimeout(() => void this.flush(), COALESCE_MS);
    await this.#sent;
  }

  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const delta = this.#gathered;
    this.#gathered = '';
    if (delta !== '') this.#sent = this.#writer.send({ type: 'text', delta });
    this.#sent.catch(() => undefined);
    return this.#sent;
  }
}
