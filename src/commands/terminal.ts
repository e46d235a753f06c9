/**
 * What a model or a chat wrote, made fit for a terminal. Invariant: no control sequence, no control character but
 * newline and tab, and no bidi override survives, however the text was cut into pieces.
 */

const ESC = String.fromCharCode(0x1b);
const BEL = String.fromCharCode(0x07);
const CSI = String.fromCharCode(0x9b);
const ST = String.fromCharCode(0x9c);

const CSI_START = `(?:${ESC}\\[|${CSI})[0-?]*[ -/]*`;
/** Titles, hyperlinks and device strings: they run to a terminator. */
const STRING_START = `${ESC}[\\]PX^_][^${BEL}${ESC}${ST}]*`;

/** ECMA-48 sequences, whole. */
const SEQUENCES = new RegExp(
  `${STRING_START}(?:${BEL}|${ST}|${ESC}\\\\)|${CSI_START}[@-~]|${ESC}(?![[\\]PX^_])[ -/]*[0-~]`,
  'gu',
);
/** The beginning of something that the next piece of a text may end: a sequence, a surrogate pair, CRLF. */
const UNFINISHED = new RegExp(`(?:${STRING_START}${ESC}?|${CSI_START}|${ESC}[ -/]*|[\\ud800-\\udbff]|\\r)$`);
/** Longer than any honest sequence: no longer waited for. */
const UNFINISHED_CHARS_MAX = 2_048;

// Controls, lone surrogates, and the characters that reorder what stands around them.
const UNSAFE = /[\p{Cs}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]|(?![\n\t])\p{Cc}/gu;

/** A whole text. Sequences go with their parameters; what is damaged loses its control characters. */
export const terminalText = (text: string): string =>
  text.replaceAll('\r\n', '\n').replace(SEQUENCES, '').replace(UNSAFE, '');

/** A name or title in a line of a table: as `terminalText`, on one line and at most `maxChars` long. */
export const terminalLine = (text: string, maxChars = 80): string => {
  const characters = [...terminalText(text).replace(/\s+/g, ' ').trim()];
  return characters.length > maxChars ? `${characters.slice(0, maxChars - 1).join('')}…` : characters.join('');
};

export interface TerminalFilter {
  /** What may be printed now; the beginning of a sequence waits for its rest. */
  push(piece: string): string;
  /** What was still waiting. */
  end(): string;
}

const splitPoint = (text: string): number => {
  const start = text.search(UNFINISHED);
  return start < 0 || text.length - start > UNFINISHED_CHARS_MAX ? text.length : start;
};

/** The same for a text that comes in pieces. */
export const createTerminalFilter = (): TerminalFilter => {
  const waiting = { text: '' };
  return {
    push: (piece) => {
      const text = waiting.text + piece;
      const cut = splitPoint(text);
      waiting.text = text.slice(cut);
      return terminalText(text.slice(0, cut));
    },
    end: () => {
      const rest = terminalText(waiting.text);
      waiting.text = '';
      return rest;
    },
  };
};
