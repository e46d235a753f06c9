/** A body, unpacked, up to a cap on what comes out of it: a small one may unpack to anything. */
import type { IncomingMessage } from 'node:http';
import { pipeline, type Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { FetchFailure } from './failure.ts';

export interface Body {
  readonly bytes: Buffer;
  /** There was more than the cap. */
  readonly isCut: boolean;
}

const UNPACKERS = new Map([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['deflate', createInflate],
  ['br', createBrotliDecompress],
]);

const unpacked = (answer: IncomingMessage): Readable => {
  const encoding = (answer.headers['content-encoding'] ?? 'identity').trim().toLowerCase();
  if (encoding === 'identity' || encoding === '') return answer;
  const unpacker = UNPACKERS.get(encoding);
  if (unpacker === undefined) throw new FetchFailure(`the answer is packed as "${encoding}", which can't be unpacked`);
  // Whoever reads the result sees the error, whichever end it came from.
  return pipeline(answer, unpacker(), () => undefined);
};

export const readBody = async (answer: IncomingMessage, bytesMax: number): Promise<Body> => {
  const chunks: Buffer[] = [];
  let length = 0;
  const stream: AsyncIterable<Buffer> = unpacked(answer);
  for await (const chunk of stream) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > bytesMax) break;
  }
  answer.destroy();
  return { bytes: Buffer.concat(chunks).subarray(0, bytesMax), isCut: length > bytesMax };
};
