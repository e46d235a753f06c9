import { describe, expect, it } from 'vitest';
import { FrameWriter, type LineSink, TextStream } from '../../container/runner/frames-out.ts';

/** A deadline for a busy machine, not an expectation. */
const eventually = <T>(look: () => T) => expect.poll(look, { timeout: 10_000 });

interface SlowSink {
  readonly lines: string[];
  readonly sink: LineSink;
  /** Takes the line that is under way. */
  release(): void;
}

const slowSink = (): SlowSink => {
  const lines: string[] = [];
  const waiting: (() => void)[] = [];
  return {
    lines,
    sink: (line, done) => {
      lines.push(line.trim());
      waiting.push(() => done());
    },
    release: () => waiting.shift()?.(),
  };
};

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('the writer of frames', () => {
  it('begins a line only when the one before it was taken', async () => {
    const { lines, sink, release } = slowSink();
    const writer = new FrameWriter(sink);
    void writer.send({ type: 'ready' });
    const second = writer.send({ type: 'result', text: 'x' });
    await turn();
    expect(lines).toEqual(['{"type":"ready"}']);
    release();
    await turn();
    expect(lines).toHaveLength(2);
    release();
    await expect(second).resolves.toBeUndefined();
  });

  it('rejects what it could not write', async () => {
    const writer = new FrameWriter((_, done) => done(new Error('EPIPE')));
    await expect(writer.send({ type: 'ready' })).rejects.toThrow('EPIPE');
  });
});

describe('streamed text', () => {
  const collect = (): { lines: string[]; text: TextStream } => {
    const lines: string[] = [];
    const writer = new FrameWriter((line, done) => {
      lines.push(line.trim());
      done();
    });
    return { lines, text: new TextStream(writer) };
  };

  it('gathers small pieces into one frame', async () => {
    const { lines, text } = collect();
    for (const piece of ['a', 'b', 'c']) await text.push(piece);
    await text.flush();
    expect(lines).toEqual(['{"type":"text","delta":"abc"}']);
  });

  it('comes by itself after a while, and at once when much has gathered', async () => {
    const { lines, text } = collect();
    await text.push('x'.repeat(5000));
    expect(lines).toHaveLength(1);
    await text.push('late');
    await eventually(() => lines.at(-1)).toBe('{"type":"text","delta":"late"}');
  });
});
