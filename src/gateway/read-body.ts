/**
 * Reads a request's body up to a cap, scanning it as it arrives. Answers stream; a request's body is held as a whole,
 * because nothing of it may reach the provider before all of it has been checked.
 */
import type { IncomingMessage } from 'node:http';
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

/** What has come of a body. */
const createReading = (bytesMax: number) => {
  const scanner = createBodyScanner();
  const chunks: Buffer[] = [];
  const state = { size: 0 };
  return {
    /** The refusal where it is too much. */
    add: (chunk: Buffer): Refusal | undefined => {
      state.size += chunk.length;
      if (state.size > bytesMax) return tooLarge(bytesMax);
      scanner.push(chunk);
      chunks.push(chunk);
      return undefined;
    },
    isSmall: () => state.size <= SMALL_BYTES,
    end: (): ReadBody | Refusal => {
      const scan = scanner.end();
      return 'problem' in scan
        ? refusal(400, `the body isn’t a JSON object: ${scan.problem}`)
        : { allow: true, bytes: Buffer.concat(chunks), scan };
    },
  };
};

const tooLarge = (bytesMax: number): Refusal =>
  refusal(413, `the body is larger than this turn may send (${bytesMax} bytes)`);

/** Bytes and scan, or why not (413 over the cap, 400 not JSON). Rejects when the client goes away. */
export const readBody = async (request: IncomingMessage, bytesMax: number): Promise<ReadBody | Refusal> => {
  if (Number(request.headers['content-length'] ?? 0) > bytesMax) return tooLarge(bytesMax);
  const reading = createReading(bytesMax);
  // By its events: an iterator takes longer to be made than all the rest of this takes.
  return new Promise((resolve, reject) => {
    const onData = (chunk: Buffer): void => {
      const refused = reading.add(chunk);
      if (refused !== undefined) leave(() => resolve(refused));
      else if (!reading.isSmall()) breathe();
    };
    // A fast sender's chunks come in bursts of megabytes; other chats get their turn between any two of them. What came
    // in one small piece costs nobody anything.
    const breathe = (): void => {
      request.pause();
      setImmediate(goOn);
    };
    const onEnd = (): void => leave(() => resolve(reading.end()));
    const onClose = (): void => leave(() => reject(new Error('the client is gone')));
    const goOn = (): void => {
      if (request.listeners('data').includes(onData)) request.resume();
    };
    const leave = (settle: () => void): void => {
      request.off('data', onData).off('end', onEnd).off('close', onClose).pause();
      settle();
    };
    request.on('data', onData).on('end', onEnd).on('close', onClose);
  });
};
