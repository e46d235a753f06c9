import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { capText, OutputCap } from '../../container/runner/output-cap.ts';

describe('a bounded output', () => {
  it('is left as it is when it fits', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 20 })), (chunks) => {
        const cap = new OutputCap(10_000);
        for (const chunk of chunks) cap.push(Buffer.from(chunk));
        expect(cap.text()).toBe(Buffer.concat(chunks).toString('utf8'));
      }),
    );
  });

  it('keeps beginning and end, whatever the chunks, and counts what lies between', () => {
    const text = Array.from({ length: 5000 }, (_, i) => `${i} `).join('');
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 3000 }), (size) => {
        const cap = new OutputCap(200);
        for (let at = 0; at < text.length; at += size) cap.push(Buffer.from(text.slice(at, at + size)));
        expect(cap.text()).toBe(`${text.slice(0, 100)}\n… ${text.length - 200} bytes left out …\n${text.slice(-100)}`);
      }),
    );
  });

  it('never shows half a character at the cut', () => {
    for (const bytesMax of [50, 51, 52, 53, 54, 55]) {
      const capped = capText('€😀'.repeat(500), bytesMax);
      expect(capped).not.toContain('\ufffd');
      expect(capped).toContain('bytes left out');
    }
  });
});
