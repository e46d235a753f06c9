/**
 * One exchange with a provider: a checked request goes out, a status and a stream of bytes come back. Redirects are
 * never followed, and what went wrong on the way is an error with a status and no word about the upstream.
 */
import type { Dispatcher } from 'undici';
import type { Cancel } from './cancel.ts';

export interface UpstreamRequest {
  /** Path and query beneath the provider's origin. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** How many JSON values the body holds: what it costs to parse it. */
  readonly values: number;
  readonly cancel: Cancel;
}

export interface UpstreamAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: AsyncIterable<Uint8Array>;
}

/** True where the body's bytes are the answer itself: in compressed ones, whichever layer did it, no secret is found. */
export const isPlain = ({ headers }: Pick<UpstreamAnswer, 'headers'>): boolean =>
  String(headers['content-encoding'] ?? 'identity').toLowerCase() === 'identity' &&
  String(headers['transfer-encoding'] ?? 'chunked').toLowerCase() === 'chunked';

export type Upstream = (request: UpstreamRequest) => Promise<UpstreamAnswer>;

export interface UpstreamTimeouts {
  /** From the end of the request to the answer's headers. A long answer without streaming takes minutes. */
  readonly headersMs: number;
  /** Between two pieces of the body. */
  readonly idleMs: number;
}

export const DEFAULT_TIMEOUTS: UpstreamTimeouts = { headersMs: 600_000, idleMs: 300_000 };

/** The provider gave no usable answer. `status` (502 or 504) and `message` are fit for the container; the cause isn't. */
export class UpstreamError extends Error {
  readonly status: 502 | 504;

  constructor(status: 502 | 504, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'UpstreamError';
    this.status = status;
  }
}

const TIMEOUTS: ReadonlySet<string> = new Set([
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'ETIMEDOUT',
]);

/** Any failure of the connection as an UpstreamError. */
export const toUpstreamError = (thrown: unknown): UpstreamError => {
  if (thrown instanceof UpstreamError) return thrown;
  const code = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : '';
  return TIMEOUTS.has(code)
    ? new UpstreamError(504, 'the model provider did not answer in time', thrown)
    : new UpstreamError(502, 'the model provider can’t be reached or gave no usable answer', thrown);
};

/** One for all: another each time would have its stack made, too. */
const CANCELLED = new UpstreamError(502, 'the exchange is over');

/** More than that waits at the provider's end until what is here has been taken. */
const HELD_BYTES_MAX = 64 * 1024;

/**
 * One answer while it comes in: from the dispatcher's callbacks to pieces that are taken one by one. The dispatcher's
 * own streams do the same in three times the time.
 */
class Reception implements Dispatcher.DispatchHandler {
  readonly answer: Promise<UpstreamAnswer>;
  readonly #pieces: Buffer[] = [];
  #heldBytes = 0;
  #isOver = false;
  #error: UpstreamError | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #wake = (): void => undefined;
  #begin: (answer: UpstreamAnswer) => void = () => undefined;
  #refuse: (error: UpstreamError) => void = () => undefined;

  constructor() {
    this.answer = new Promise((resolve, reject) => {
      this.#begin = resolve;
      this.#refuse = reject;
    });
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#isOver) controller.abort(CANCELLED);
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: UpstreamAnswer['headers']): void {
    if (status >= 200) this.#begin({ status, headers, body: this.#read() });
  }

  onResponseData(controller: Dispatcher.DispatchController, piece: Buffer): void {
    this.#pieces.push(piece);
    this.#heldBytes += piece.length;
    if (this.#heldBytes > HELD_BYTES_MAX) controller.pause();
    this.#wake();
  }

  onResponseEnd(): void {
    this.#end();
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#end(toUpstreamError(error));
  }

  /** Nothing is left to be done where the answer has been read to its end. */
  cancel(): void {
    this.#controller?.abort(CANCELLED);
    this.#end(CANCELLED);
  }

  #end(error?: UpstreamError): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#error = error;
    if (error !== undefined) this.#refuse(error);
    this.#wake();
  }

  async *#read(): AsyncGenerator<Uint8Array> {
    try {
      while (!this.#isOver || this.#pieces.length > 0) {
        if (this.#pieces.length === 0) await this.#more();
        else yield this.#takeAll();
      }
      if (this.#error !== undefined) throw this.#error;
    } finally {
      this.cancel();
    }
  }

  /** What has come meanwhile, as one: fewer and larger writes for whoever passes it on. */
  #takeAll(): Buffer {
    const pieces = this.#pieces.splice(0);
    this.#heldBytes = 0;
    this.#controller?.resume();
    const [first] = pieces;
    return first !== undefined && pieces.length === 1 ? first : Buffer.concat(pieces);
  }

  #more(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}

/** Exchanges over HTTP with one origin. Throws UpstreamError, also while the body is read. */
export const httpUpstream =
  (origin: string, dispatcher: Dispatcher, timeouts: UpstreamTimeouts): Upstream =>
  ({ path, headers, body, cancel }) => {
    const reception = new Reception();
    cancel.onCancel(() => reception.cancel());
    dispatcher.dispatch(
      {
        origin,
        path,
        method: 'POST',
        headers: { ...headers },
        body,
        headersTimeout: timeouts.headersMs,
        bodyTimeout: timeouts.idleMs,
      },
      reception,
    );
    return reception.answer;
  };
