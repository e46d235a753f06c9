import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createFrameReader, TURN_LINES_MAX, TURN_OUTPUT_BYTES_MAX } from '../../src/flow/frames.ts';
import { encodeFrame, FRAME_BYTES_MAX, type RunnerFrame } from '../../src/protocol.ts';

const reading = () => {
  const heard = { frames: [] as RunnerFrame[], noise: [] as string[], overflow: [] as string[] };
  const push = createFrameReader({
    frame: (frame) => heard.frames.push(frame),
    noise: (line) => heard.noise.push(line),
    overflow: (detail) => heard.overflow.push(detail),
  });
  return { heard, push };
};

const text = (delta: string): RunnerFrame => ({ type: 'text', delta });

describe('reading frames from a container’s stdout', () => {
  it('gives the same frames however the bytes are cut', () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: 'grapheme' }), { maxLength: 8 }),
        fc.infiniteStream(fc.integer({ min: 1, max: 9 })),
        (deltas, sizes) => {
          const bytes = Buffer.from(deltas.map((delta) => encodeFrame(text(delta))).join(''));
          const { heard, push } = reading();
          for (let at = 0; at < bytes.length; ) {
            const { value: size } = sizes.next();
            push(bytes.subarray(at, at + size));
            at += size;
          }
          expect(heard.frames).toEqual(deltas.map(text));
        },
      ),
    );
  });

  it.each([
    ['text that isn’t JSON', 'hello\n'],
    ['a frame of an unknown type', '{"type":"promote","tier":"main"}\n'],
    ['a frame with a field too many', '{"type":"text","delta":"x","chat":"local:other"}\n'],
    ['a frame that only the host may send', '{"type":"stop","reason":"x"}\n'],
    ['an array', '[{"type":"ready"}]\n'],
    ['the end marker of another protocol', '---NANOCLAW_OUTPUT_END---\n'],
  ])('hands on %s as noise', (_, line) => {
    const { heard, push } = reading();
    push(Buffer.from(line));
    expect(heard.frames).toEqual([]);
    expect(heard.noise).toHaveLength(1);
  });

  it('takes invalid UTF-8 and lone NULs as noise and goes on', () => {
    const { heard, push } = reading();
    push(Buffer.from([0xff, 0xfe, 0x00, 0x0a]));
    push(Buffer.from(encodeFrame(text('after'))));
    expect(heard.noise).toHaveLength(1);
    expect(heard.frames).toEqual([text('after')]);
  });

  it('takes a frame of just 1 MiB and ends the reading at one byte more', () => {
    const frame = (bytes: number): Buffer => {
      const empty = Buffer.byteLength(JSON.stringify(text('')));
      return Buffer.from(`${JSON.stringify(text('x'.repeat(bytes - empty)))}\n`);
    };
    const { heard, push } = reading();
    push(frame(FRAME_BYTES_MAX));
    expect(heard.frames).toHaveLength(1);
    push(frame(FRAME_BYTES_MAX + 1));
    push(Buffer.from(encodeFrame(text('too late'))));
    expect(heard.overflow).toHaveLength(1);
    expect(heard.frames).toHaveLength(1);
  });

  it('ends a line that never ends without keeping it', () => {
    const { heard, push } = reading();
    const chunk = Buffer.alloc(64 * 1024, 'a');
    for (let sent = 0; sent <= FRAME_BYTES_MAX; sent += chunk.length) push(chunk);
    expect(heard.overflow).toEqual([`a line of more than ${FRAME_BYTES_MAX} bytes`]);
  });

  it('ends a flood of empty lines early, once', () => {
    const { heard, push } = reading();
    for (let sent = 0; sent < 3; sent += 1) push(Buffer.alloc(TURN_LINES_MAX, '\n'));
    expect(heard.overflow).toEqual([`more than ${TURN_LINES_MAX} lines of output`]);
  });

  it('ends a flood of long lines at the turn’s limit, once', () => {
    const { heard, push } = reading();
    const chunk = Buffer.alloc(512 * 1024, 'a');
    chunk[0] = 0x0a;
    for (let sent = 0; sent < TURN_OUTPUT_BYTES_MAX + 3 * chunk.length; sent += chunk.length) push(chunk);
    expect(heard.overflow).toHaveLength(1);
  });
});

describe('frames made to be expensive', () => {
  const entry = (content: string): string => `{"type":"transcript","entries":[{"role":"user","content":${content}}]}\n`;

  it.each([
    ['of a hundred thousand parts', entry(`[${Array(100_000).fill('{}').join(',')}]`)],
    ['nested a thousand deep', entry(`[{"a":${'['.repeat(1000)}${']'.repeat(1000)}}]`)],
    ['whose one entry has a thousand pieces', entry(`[${Array(1000).fill('{}').join(',')}]`)],
  ])('are noise: one %s', (_, line) => {
    const { heard, push } = reading();
    push(Buffer.from(line));
    expect(heard.frames).toEqual([]);
    expect(heard.noise).toHaveLength(1);
  });
});
