import { PassThrough } from 'node:stream';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LineDecoder, parseHostFrame, readFrames } from '../../container/runner/frames-in.ts';
import { FRAME_BYTES_MAX } from '../../src/protocol.ts';
import { initFrame } from './init-frame.ts';

const decode = (chunks: readonly Buffer[], bytesMax = 1000): string[] => {
  const decoder = new LineDecoder(bytesMax);
  return chunks.flatMap((chunk) => [...decoder.push(chunk)]);
};

describe('lines on stdin', () => {
  it('come out the same wherever the bytes are cut', () => {
    const lines = fc.array(
      fc.string({ unit: 'grapheme' }).map((text) => text.replaceAll('\n', '')),
      { maxLength: 8 },
    );
    fc.assert(
      fc.property(lines, fc.integer({ min: 1, max: 7 }), (expected, size) => {
        const bytes = Buffer.from(expected.map((line) => `${line}\n`).join(''));
        const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
          bytes.subarray(i * size, (i + 1) * size),
        );
        expect(decode(chunks, 1_000_000)).toEqual(expected.map((line) => Buffer.from(line).toString()));
      }),
    );
  });

  it('are refused one byte over the bound, whether or not the end is in sight', () => {
    expect(decode([Buffer.from('123456789\n')], 10)).toEqual(['123456789']);
    expect(() => decode([Buffer.from('1234567890\n')], 10)).toThrow(RangeError);
    expect(() => decode([Buffer.from('12345'), Buffer.from('67890')], 10)).toThrow(RangeError);
  });
});

describe('a frame from the host', () => {
  it.each([
    ['{', 'not JSON'],
    ['{"type":"surprise"}', 'type'],
    ['{"type":"poke","more":1}', 'frame'],
  ])('%s is refused with a reason', (line, reason) => {
    const parsed = parseHostFrame(line);
    expect(parsed.ok).toBe(false);
    expect(parsed.ok ? '' : parsed.why).toContain(reason);
  });

  it('is long only when it is the first: after init the small bound holds', async () => {
    const stdin = new PassThrough();
    const seen: string[] = [];
    const over = new Promise<void>((resolve) => {
      readFrames(stdin, {
        frame: (frame) => seen.push(frame.type),
        broken: (why) => {
          seen.push(why);
          resolve();
        },
        end: () => resolve(),
      });
    });
    stdin.write(`${JSON.stringify(initFrame({ instructions: 'x'.repeat(2 * FRAME_BYTES_MAX) }))}\n`);
    stdin.write(`{"type":"stop","reason":"${'x'.repeat(FRAME_BYTES_MAX)}"}\n`);
    await over;
    expect(seen).toEqual(['init', `a line of more than ${FRAME_BYTES_MAX} bytes`]);
  });
});
