/**
 * Reads a request's body up to a cap, scanning it as it arrives. Answers stream; a request's body is held as a whole,
 * because nothing of it may reach the provider before all of it has been checked.
 */
import type { IncomingMessage } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type BodyScan, createBodyScanner } from './body-scan.ts';
import { type Refusal, refusal } from './rules.ts';

export interface ReadBody {
  readonly allow: true;
  readonly bytes: Buffer;
  readonly scan: BodyScan;
}

/**
 * So much of a refused body is read and thrown away: a client that is still writing when the connection ends sees a
 * broken pipe instead of the reason. The server's request timeout bounds how long that takes.
 */
const DISCARD_BYTES_MAX = 16 * 1024 * 1024;

/** One read of a socket at most: no burst. */
const SMALL_BYTES = 64 * 1024;

/** Reads on without keeping anything; settles when the body has ended, the client is gone, or it is too much. */
export const discardBody = async (request: IncomingMessage): Promise<void> => {
  let size = Number(request.headers['content-length'] ?? 0);
  if (size > DISCARD_BYTES_MAX || request.readableEnded || request.destroyed) return;
  size = 0;
  // Leaving the loop must not destroy the request: its socket carries the answer.
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    size += (chunk as Buffer).length;
    if (size > DISCARD_BYTES_MAX) return;
  }
};

/** Bytes and scan, or why not (413 over the cap, 400 not JSON). Rejects when the client goes away. */
export const readBody = async (request: IncomingMessage, bytesMax: number): Promise<ReadBody | Refusal> => {
  const tooLarge = refusal(413, `the body is larger than this turn may send (${bytesMax} bytes)`);
  if (Number(request.headers['content-length'] ?? 0) > bytesMax) return tooLarge;
  const scanner = createBodyScanner();
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    const bytes = chunk as Buffer;
    size += bytes.length;
    if (size > bytesMax) return tooLarge;
    scanner.push(bytes);
    chunks.push(bytes);
    // A fast sender's chunks come in bursts of megabytes; other chats get their turn between any two of them. What
    // came in one small piece costs nobody anything.
    if (size > SMALL_BYTES) await nextTurn();
  }
  const scan = scanner.end();
  return 'problem' in scan
    ? refusal(400, `the body isn’t a JSON object: ${scan.problem}`)
    : { allow: true, bytes: Buffer.concat(chunks), scan };
};
