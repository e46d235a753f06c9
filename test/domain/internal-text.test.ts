/** Whatever stands between internal tags stays inside, however the text is cut. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createInternalStripper, stripInternal } from '../../src/domain/internal-text.ts';

const CASES: readonly [title: string, text: string, visible: string][] = [
  ['plain text stays', 'hello', 'hello'],
  ['a part is cut out', 'a<internal>secret</internal>b', 'ab'],
  ['an unclosed part hides the rest', 'a<internal>secret and more', 'a'],
  ['nested parts end with the outer one', 'a<internal>x<internal>y</internal>z</internal>b', 'ab'],
  ['case makes no difference', 'a<Internal>x</INTERNAL>b', 'ab'],
  ['white space before the bracket is forgiven', 'a<internal \n>x</internal >b', 'ab'],
  ['other tags stay', 'a<internals>x</internals><b>', 'a<internals>x</internals><b>'],
  ['a lone closing tag is dropped', 'a</internal>b', 'ab'],
  ['half a tag at the end is text', 'a <intern', 'a <intern'],
  ['brackets in a row find the tag', '<<<internal>x</internal>', '<<'],
  ['a broken closing tag hides on', 'a<internal>x</internal y</internal>b', 'ab'],
  ['only internal text leaves nothing', '<internal>x</internal>', ''],
];

/** Texts that are mostly made of what matters. */
const taggedText = fc
  .array(
    fc.constantFrom(
      '<internal>',
      '</internal>',
      '<INTERNAL >',
      '<',
      '</',
      'intern',
      'al>',
      '>',
      ' ',
      'x',
      '\ud83d\ude00',
      'İ',
    ),
    {
      maxLength: 30,
    },
  )
  .map((pieces) => pieces.join(''));

const stream = (text: string, cuts: readonly number[]): string => {
  const stripper = createInternalStripper();
  const points = [...new Set(cuts.map((cut) => cut % (text.length + 1)))].sort((a, b) => a - b);
  let visible = '';
  let from = 0;
  for (const point of [...points, text.length]) {
    visible += stripper.push(text.slice(from, point));
    from = point;
  }
  return visible + stripper.end();
};

describe('internal text', () => {
  it.each(CASES)('%s', (_title, text, visible) => {
    expect(stripInternal(text)).toBe(visible);
  });

  it('is the same however a stream is cut', () => {
    fc.assert(
      fc.property(taggedText, fc.array(fc.nat(), { maxLength: 20 }), (text, cuts) => {
        expect(stream(text, cuts)).toBe(stripInternal(text));
      }),
      { numRuns: 2000 },
    );
  });

  it('agrees with cutting by brackets when the text has nothing but whole tags', () => {
    const piece = fc.constantFrom('<internal>', '</internal>', 'a', 'b');
    fc.assert(
      fc.property(fc.array(piece), (pieces) => {
        let depth = 0;
        let expected = '';
        for (const part of pieces) {
          if (part === '<internal>') depth += 1;
          else if (part === '</internal>') depth = Math.max(0, depth - 1);
          else if (depth === 0) expected += part;
        }
        expect(stripInternal(pieces.join(''))).toBe(expected);
      }),
    );
  });

  it('shows text at once and holds back nothing but what may become a tag', () => {
    const stripper = createInternalStripper();
    expect(stripper.push('hello <in')).toBe('hello ');
    expect(stripper.push('ner')).toBe('<inner');
    expect(stripper.push('<internal>x')).toBe('');
    expect(stripper.push('</internal>y')).toBe('y');
  });

  it('takes time in proportion to the text, also where a tag never ends', () => {
    const hostile = `<internal${' '.repeat(1_000_000)}`;
    expect(stripInternal(hostile)).toBe(hostile);
    expect(stripInternal('<'.repeat(1_000_000))).toHaveLength(1_000_000);
  });
});
