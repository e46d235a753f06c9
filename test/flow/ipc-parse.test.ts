/** Bytes of strangers become requests or faults, never anything else, and never slowly. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createBucket } from '../../src/flow/ipc-bucket.ts';
import { idOfFile, parseRequest } from '../../src/flow/ipc-parse.ts';
import { isSimple } from '../../src/flow/json-shape.ts';

const BOUNDS = { depth: 32, parts: 1000 };

describe('parsing a request', () => {
  it('never throws, whatever the bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        expect(['message', 'other', 'bad']).toContain(parseRequest(bytes).kind);
      }),
    );
  });

  it('counts structure outside of strings alone', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), fc.string({ unit: 'binary' }), (value, text) => {
        expect(
          isSimple(Buffer.from(JSON.stringify({ value, text: `${'[,{"\\\\'.repeat(2000)}${text}` })), BOUNDS),
        ).toBe(true);
      }),
    );
  });

  it.each([
    ['deep', '['.repeat(33), false],
    ['not deep', `${'['.repeat(32)}${']'.repeat(32)}`, true],
    ['side by side', '[]'.repeat(1000), true],
    ['many', `[${'1,'.repeat(1001)}1]`, false],
    ['in a string', `"${'['.repeat(1000)}"`, true],
    ['after an escaped quote', `"\\"${'['.repeat(1000)}"`, true],
    ['after a string', `"\\\\"${'['.repeat(1000)}`, false],
  ])('sees that %s text is simple or not', (_title, text, simple) => {
    expect(isSimple(Buffer.from(text), BOUNDS)).toBe(simple);
  });

  it.each([
    ['r-1_A.json', 'r-1_A'],
    ['.json', undefined],
    ['a.b.json', undefined],
    ['..json', undefined],
    [`${'x'.repeat(65)}.json`, undefined],
  ])('reads the id from the file name %s', (name, id) => {
    expect(idOfFile(name)).toBe(id);
  });
});

describe('a bucket', () => {
  it('gives its burst at once, then so many per second, and never more than its burst', () => {
    const time = { ms: 0 };
    const bucket = createBucket(10, 3, () => time.ms);
    const takeAll = (): number => {
      let taken = 0;
      while (bucket.take()) taken += 1;
      return taken;
    };
    expect(takeAll()).toBe(3);
    time.ms = 100;
    expect(takeAll()).toBe(1);
    time.ms = 60_000;
    expect(takeAll()).toBe(3);
  });
});
