import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fitFrame } from '../../container/runner/frame-size.ts';
import { encodeFrame, FRAME_BYTES_MAX, RunnerFrame, type TranscriptEntry } from '../../src/protocol.ts';

const MIB = 1024 * 1024;
const WORST = '\u0001'.repeat(2 * MIB);

const toolResult = (value: string, index: number): TranscriptEntry => ({
  role: 'tool',
  content: [{ type: 'tool-result', toolCallId: `c${index}`, toolName: 'bash', output: { type: 'text', value } }],
});

const FRAMES: readonly (readonly [string, RunnerFrame])[] = [
  ['a text of control characters', { type: 'text', delta: WORST }],
  ['a result of control characters', { type: 'result', text: WORST }],
  ['a result of 3 MB', { type: 'result', text: 'é'.repeat(3 * MIB) }],
  ['an error', { type: 'error', kind: 'provider', message: WORST }],
  ['a progress note', { type: 'progress', note: WORST }],
  ['many acks', { type: 'ack', ids: Array.from({ length: 2500 }, (_, i) => `id-${i}`) }],
  ['a huge user entry', { type: 'transcript', entries: [{ role: 'user', content: WORST }] }],
  ['huge tool outputs', { type: 'transcript', entries: [1, 2, 3].map((i) => toolResult(WORST, i)) }],
  [
    'many entries',
    { type: 'transcript', entries: Array.from({ length: 900 }, (_, i) => toolResult('x'.repeat(3000), i)) },
  ],
];

describe('a frame that is written', () => {
  it.each(FRAMES)('is at most 1 MiB and parses: %s', (_, frame) => {
    const fitted = fitFrame(frame);
    expect(fitted.length).toBeGreaterThan(0);
    for (const one of fitted) {
      const line = encodeFrame(one);
      expect(Buffer.byteLength(line)).toBeLessThanOrEqual(FRAME_BYTES_MAX);
      expect(RunnerFrame.safeParse(JSON.parse(line)).error).toBeUndefined();
    }
  });

  it('loses no character of a streamed text and no entry of a transcript that fits', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 300_000, size: 'max' }), (delta) => {
        const joined = fitFrame({ type: 'text', delta }).map((one) => (one.type === 'text' ? one.delta : ''));
        expect(joined.join('')).toBe(delta);
      }),
      { numRuns: 5 },
    );
    const entries = Array.from({ length: 901 }, (_, i) => toolResult('x'.repeat(3000), i));
    const dealt = fitFrame({ type: 'transcript', entries }).flatMap((one) =>
      one.type === 'transcript' ? one.entries : [],
    );
    expect(dealt).toEqual(entries);
  });

  it('says how much was cut, and keeps the structure around it', () => {
    const [frame] = fitFrame({ type: 'transcript', entries: [toolResult('y'.repeat(2 * MIB), 7)] });
    const entry = frame?.type === 'transcript' ? frame.entries[0] : undefined;
    expect(entry?.content[0]).toMatchObject({ type: 'tool-result', toolCallId: 'c7', output: { type: 'text' } });
    expect(JSON.stringify(entry)).toContain(`${2 * MIB - 64 * 1024} characters left out`);
    const [result] = fitFrame({ type: 'result', text: 'z'.repeat(2 * MIB) });
    expect(result?.type === 'result' ? result.text : '').toMatch(/^z+\n\[… \d+ characters left out …\]$/);
  });

  it('is left alone when it is small', () => {
    const frame: RunnerFrame = { type: 'result', text: 'fine' };
    expect(fitFrame(frame)).toEqual([frame]);
    expect(fitFrame({ type: 'text', delta: '' })).toEqual([]);
  });
});
