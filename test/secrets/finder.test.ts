import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createFinder } from '../../src/secrets/finder.ts';

const throughChunks = (values: readonly string[], bytes: Buffer, size: number): string => {
  const filter = createFinder(values).filter();
  const out: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += size) out.push(filter.push(bytes.subarray(at, at + size)));
  return Buffer.concat([...out, filter.end()]).toString();
};

describe('a secret', () => {
  const VALUE = 'k3y-Ünlike/any+other=';

  it.each(['', 'a', 'ab', 'abc', 'x-access-token:'])('is found in base64 behind %j, in text and in bytes', (before) => {
    for (const encoding of ['base64', 'base64url'] as const) {
      const encoded = Buffer.from(`${before}${VALUE} and more`).toString(encoding);
      const { redact } = createFinder([VALUE]);
      const middle = Buffer.from(VALUE).toString('base64').slice(4, 20);
      expect(redact(encoded)).toContain('[redacted]');
      expect(redact(encoded)).not.toContain(middle);
      for (const size of [1, 3, 7, 1000])
        expect(throughChunks([VALUE], Buffer.from(encoded), size)).toBe(redact(encoded));
    }
  });

  it('is found in JSON and in an address', () => {
    const { redact } = createFinder(['two\nlines "quoted"', 'a b/c?d&e']);
    expect(redact(JSON.stringify({ x: 'two\nlines "quoted"' }))).toBe('{"x":"[redacted]"}');
    expect(redact(`/?q=${encodeURIComponent('a b/c?d&e')}`)).toBe('/?q=[redacted]');
  });

  it('is nothing where it is shorter than six characters, and takes nothing with it where there is none', () => {
    expect(createFinder(['12345']).redact('12345')).toBe('12345');
    const bytes = Buffer.from('anything');
    expect(createFinder([]).filter().push(bytes).toString()).toBe('anything');
  });

  it('is gone from bytes wherever they are cut, also where it is the beginning of another', () => {
    const values = ['abcabc', 'abcabcabd', 'zz-top-secret'];
    const words = fc.constantFrom('abc', 'abcabc', 'abd', 'abcabcabd', 'zz-top', '-secret', 'zz-top-secret', 'q', '\n');
    fc.assert(
      fc.property(fc.array(words), fc.integer({ min: 1, max: 12 }), (parts, size) => {
        const text = parts.join('');
        const clean = throughChunks(values, Buffer.from(text), size);
        for (const value of values) expect(clean).not.toContain(value);
        expect(clean).toBe(throughChunks(values, Buffer.from(text), 10_000));
      }),
    );
  });

  it('costs a stream little, however many there are', () => {
    const values = Array.from({ length: 500 }, (_, at) => `secret-number-${at}-${'x'.repeat(20)}`);
    const bytes = Buffer.from('data: {"delta":"words and words"}\n'.repeat(250_000));
    const finder = createFinder(values);
    const startedAt = performance.now();
    const filter = finder.filter();
    for (let at = 0; at < bytes.length; at += 65_536) filter.push(bytes.subarray(at, at + 65_536));
    // 8 MB; a pass per secret would take many times that.
    expect(performance.now() - startedAt).toBeLessThan(2_000);
  });
});
