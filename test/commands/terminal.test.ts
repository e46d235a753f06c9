/** What reaches a terminal from a model or a chat. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createTerminalFilter, terminalLine, terminalText } from '../../src/commands/terminal.ts';

const ESC = '\u001b';

describe('a text', () => {
  test.each([
    ['plain text', 'two\nlines\tand a tab', 'two\nlines\tand a tab'],
    ['other scripts and joined emoji', 'naïve 漢字 👩‍👩‍👧 فارسی‌ها', 'naïve 漢字 👩‍👩‍👧 فارسی‌ها'],
    ['colours', `${ESC}[31mred${ESC}[0m`, 'red'],
    ['8-bit colours', '\u009b31mred', 'red'],
    ['a window title', `a${ESC}]0;title\u0007b`, 'ab'],
    ['a hyperlink', `${ESC}]8;;http://evil${ESC}\\text${ESC}]8;;${ESC}\\`, 'text'],
    ['a clipboard write', `${ESC}]52;c;ZXZpbA==\u0007ok`, 'ok'],
    ['a device string', `${ESC}P1;2q#0${ESC}\\ok`, 'ok'],
    ['a reset', `${ESC}cok`, 'ok'],
    ['a sequence without an end', `ok${ESC}]0;title`, 'ok]0;title'],
    ['overwriting with carriage return and backspace', 'rm -rf /\rls\b\b', 'rm -rf /ls'],
    ['CRLF', 'a\r\nb', 'a\nb'],
    ['a bidi override', 'user\u202egpj.exe\u2066x\u2069', 'usergpj.exex'],
    ['half a character', 'a\ud83d', 'a'],
    ['a sequence made by taking another away', `${ESC}${ESC}[0m[31mx`, '[31mx'],
  ])('keeps what is safe of %s', (_, text, safe) => {
    expect(terminalText(text)).toBe(safe);
  });

  test('on one line is short and has no line break', () => {
    expect(terminalLine('  a\n\tb   c ')).toBe('a b c');
    expect(terminalLine('👍'.repeat(100), 5)).toBe('👍👍👍👍…');
  });
});

const hostile = fc
  .array(
    fc.oneof(
      fc.constantFrom(ESC, '[', ']', '\u009b', '\u009c', '31m', '0;t', '\u0007', '\\', '\r', '\n', '\u202e', 'a', '👍'),
      fc.string(),
    ),
    {
      maxLength: 20,
    },
  )
  .map((pieces) => pieces.join(''));

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there.
const UNSAFE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/;

describe('a text in pieces', () => {
  test('never lets a control character through, however it is cut', () => {
    fc.assert(
      fc.property(fc.array(hostile), (pieces) => {
        const filter = createTerminalFilter();
        const shown = pieces.map((piece) => filter.push(piece)).join('') + filter.end();
        expect(shown).not.toMatch(UNSAFE);
      }),
    );
  });

  test('shows the same as the whole text where its sequences are sound', () => {
    const sound = `${ESC}[1;31mred${ESC}[0m ${ESC}]8;;http://x${ESC}\\link${ESC}]8;;\u0007 👍 end\r\n`;
    fc.assert(
      fc.property(fc.array(fc.nat(sound.length)), (cuts) => {
        const filter = createTerminalFilter();
        const points = [0, ...cuts.sort((a, b) => a - b), sound.length];
        const shown = points
          .slice(1)
          .map((to, at) => filter.push(sound.slice(points[at], to)))
          .join('');
        expect(shown + filter.end()).toBe('red link 👍 end\n');
      }),
    );
  });

  test('does not wait for ever for the end of a sequence', () => {
    const filter = createTerminalFilter();
    expect(filter.push(`${ESC}]0;`)).toBe('');
    expect(filter.push('x'.repeat(3_000))).toContain('xxx');
  });
});
