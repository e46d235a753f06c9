import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createDemux, FRAME_PAYLOAD_MAX, parseHeader } from '../../src/runtimes/demux.ts';

const frame = (type: number, payload: string): Buffer => {
  const header = Buffer.alloc(8);
  header.writeUInt8(type, 0);
  header.writeUInt32BE(Buffer.byteLength(payload), 4);
  return Buffer.concat([header, Buffer.from(payload)]);
};

const collect = () => {
  const seen = { stdout: '', stderr: '' };
  const demux = createDemux({
    stdout: (chunk) => {
      seen.stdout += chunk.toString('latin1');
    },
    stderr: (chunk) => {
      seen.stderr += chunk.toString('latin1');
    },
  });
  return { seen, demux };
};

describe('taking the attach stream apart', () => {
  it('parts stdout from stderr wherever the pieces are cut', () => {
    const wire = Buffer.concat([frame(1, 'one\n'), frame(2, 'warn'), frame(1, ''), frame(1, 'two\n')]);
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }), (sizes) => {
        const { seen, demux } = collect();
        let at = 0;
        for (let turn = 0; at < wire.length; turn += 1) {
          const size = sizes[turn % sizes.length] ?? 1;
          expect(demux.push(wire.subarray(at, at + size))).toBe(true);
          at += size;
        }
        expect(seen).toEqual({ stdout: 'one\ntwo\n', stderr: 'warn' });
      }),
    );
  });

  it('hands a payload on before all of it has come', () => {
    const { seen, demux } = collect();
    demux.push(frame(1, 'x'.repeat(1000)).subarray(0, 12));
    expect(seen.stdout).toBe('xxxx');
  });

  it.each([
    { what: 'a terminal’s raw text', bytes: Buffer.from('hello world, no header here') },
    { what: 'stdin’s type', bytes: frame(0, 'x') },
    { what: 'an unknown type', bytes: frame(3, 'x') },
    { what: 'zeros that aren’t', bytes: Buffer.from([1, 0, 1, 0, 0, 0, 0, 1, 120]) },
    { what: 'an absurd length', bytes: Buffer.from([1, 0, 0, 0, 255, 255, 255, 255, 120]) },
  ])('refuses $what and everything after it', ({ bytes }) => {
    const { seen, demux } = collect();
    expect(demux.push(Buffer.concat([frame(1, 'good'), bytes]))).toBe(false);
    expect(demux.push(frame(1, 'late'))).toBe(false);
    expect(seen).toEqual({ stdout: 'good', stderr: '' });
  });

  it('takes the longest frame and not one byte more', () => {
    const header = Buffer.from([1, 0, 0, 0, 0, 0, 0, 0]);
    header.writeUInt32BE(FRAME_PAYLOAD_MAX, 4);
    expect(parseHeader(header)).toEqual({ type: 1, bytes: FRAME_PAYLOAD_MAX });
    header.writeUInt32BE(FRAME_PAYLOAD_MAX + 1, 4);
    expect(parseHeader(header)).toBeNull();
  });
});
