/**
 * One exchange with a provider: a checked request goes out, a status and a stream of bytes come back. Redirects are
 * never followed, and what went wrong on the way is an error with a status and no word about the upstream.
 */
import type { Dispatcher } from 'undici';

export interface UpstreamRequest {
  /** Path and query beneath the provider's origin. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** How many JSON values the body holds: what it costs to parse it. */
  readonly values: number;
  readonly signal: AbortSignal;
}

export interface UpstreamAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: AsyncIterable<Uint8Array>;
}

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

/** Exchanges over HTTP with one origin. Throws UpstreamError, also while the body is read. */
export const httpUpstream =
  (origin: string, dispatcher: Dispatcher, timeouts: UpstreamTimeouts): Upstream =>
  async ({ path, headers, body, signal }) => {
    try {
      const answer = await dispatcher.request({
        origin,
        path,
        method: 'POST',
        headers: { ...headers },
        body,
        signal,
        headersTimeout: timeouts.headersMs,
        bodyTimeout: timeouts.idleMs,
      });
      // An answer that nobody reads to its end is destroyed with an error; without a listener that ends the process.
      answer.body.on('error', () => undefined);
      return { status: answer.statusCode, headers: answer.headers, body: answer.body };
    } catch (thrown) {
      throw toUpstreamError(thrown);
    }
  };
