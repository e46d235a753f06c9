/** One address, fetched and made readable, within bounds of time and size. */
import type { IncomingMessage } from 'node:http';
import { compose, type Fetched, type Window } from './answer.ts';
import { readBody } from './body.ts';
import { FetchFailure } from './failure.ts';
import { type Arrival, follow } from './follow.ts';
import { decode, type Media, mediaOf, sniff } from './media.ts';
import { readPage } from './page.ts';
import { refusal } from './tunnel.ts';

export interface Job extends Window {
  readonly url: string;
  readonly proxyPort: number;
  readonly timeoutMs: number;
}

const BODY_BYTES_MAX = 5 * 1024 * 1024;

const notText = (answer: IncomingMessage, media: Media, url: URL): FetchFailure => {
  const length = answer.headers['content-length'];
  const size = length !== undefined && /^\d{1,15}$/.test(length) ? `${length} bytes` : 'of unknown size';
  return new FetchFailure(
    `${url.href} is not text: ${media.type || 'no type given'}, ${size}. Fetch it with a shell command (curl -fsSLo <file> <address>) where you have one.`,
  );
};

const read = async ({ answer, url, redirects }: Arrival): Promise<Fetched> => {
  const media = mediaOf(answer.headers['content-type']);
  if (media.kind === 'other') throw notText(answer, media, url);
  const { bytes, isCut } = await readBody(answer, BODY_BYTES_MAX);
  const raw = decode(bytes, media);
  // Over plain http the proxy's own refusal comes like an answer of the host's.
  if (raw.trim() === `tierclaw: ${answer.statusMessage}`) throw refusal(url, answer);
  const kind = sniff(raw, media);
  if (kind === 'other') throw notText(answer, media, url);
  const { title, text } = kind === 'html' ? readPage(raw, url) : { title: '', text: raw };
  const status = answer.statusCode ?? 0;
  return {
    url,
    redirects,
    status,
    type: media.type,
    bytes: bytes.length,
    isCut,
    title,
    text,
    hasOwnLinks: kind === 'html' && text.includes(' </'),
  };
};

const CODES: Readonly<Record<string, string>> = {
  ECONNRESET: 'the connection was closed before the answer was whole',
  ECONNREFUSED: 'the proxy is not there; this chat has no way out',
  EPIPE: 'the connection was closed before the answer was whole',
  ERR_STREAM_PREMATURE_CLOSE: 'the connection was closed before the answer was whole',
};

const codeOf = (thrown: unknown): string =>
  thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : '';

const explained = (thrown: unknown, job: Job, signal: AbortSignal): FetchFailure => {
  if (thrown instanceof FetchFailure) return thrown;
  if (signal.aborted) return new FetchFailure(`no whole answer within ${job.timeoutMs / 1000} s`);
  const code = codeOf(thrown);
  if (code.startsWith('HPE_')) return new FetchFailure(`the answer is no HTTP (${code})`);
  if (code.startsWith('Z_') || code.startsWith('ERR_BROTLI') || code.startsWith('ERR__')) {
    return new FetchFailure(`the answer can't be unpacked (${code})`);
  }
  const why = CODES[code] ?? (thrown instanceof Error ? thrown.message : String(thrown));
  return new FetchFailure(why);
};

/** The text for the model. Rejects with a FetchFailure that says why there is none. */
export const fetchText = async (job: Job): Promise<string> => {
  const signal = AbortSignal.timeout(job.timeoutMs);
  try {
    const page = await read(await follow(job.url, { proxyPort: job.proxyPort, signal }));
    return compose(page, job);
  } catch (thrown) {
    throw explained(thrown, job, signal);
  }
};
