/** An answer has an end: a provider that goes on is cut off, and whoever reads notices. */
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { type Answerer, ASK, post, start } from './setup.ts';

const BYTES_MAX = 8 * 1024 * 1024;
const PIECE = Buffer.alloc(256 * 1024, 'x');

const endless =
  (type: string): Answerer =>
  async (_, response) => {
    response.writeHead(200, { 'content-type': type });
    while (!response.destroyed) if (!response.write(PIECE)) await once(response, 'drain').catch(() => undefined);
  };

/** Bytes that came, and whether the end was a clean one. */
const readAll = async (body: AsyncIterable<Buffer>): Promise<{ bytes: number; last: string; isWhole: boolean }> => {
  const seen = { bytes: 0, last: '', isWhole: true };
  try {
    for await (const piece of body) {
      seen.bytes += piece.length;
      seen.last = piece.subarray(-300).toString();
    }
  } catch {
    seen.isWhole = false; // The connection was cut, which is what is asked here.
  }
  return seen;
};

describe('an answer without end', () => {
  it('that streams is cut at the limit, with an event that says so', async () => {
    const { socketPath } = await start(endless('text/event-stream'), {}, { answerBytesMax: BYTES_MAX });
    const answer = await post(socketPath, { body: { ...ASK, stream: true } });
    const { bytes, last } = await readAll(answer.body);
    expect(bytes).toBeGreaterThan(BYTES_MAX / 2);
    expect(bytes).toBeLessThan(BYTES_MAX + 2 * PIECE.length);
    expect(last).toContain('broke off');
  });

  it('that is one document is cut at the limit, and not taken for a whole one', async () => {
    const { socketPath } = await start(endless('application/json'), {}, { answerBytesMax: BYTES_MAX });
    const { bytes, isWhole } = await readAll((await post(socketPath)).body);
    expect(bytes).toBeLessThan(BYTES_MAX + 2 * PIECE.length);
    expect(isWhole).toBe(false);
  });
});
