/**
 * How much JSON is in these bytes: one cheap pass before the parser, for what a container chose. Parsing and checking a
 * megabyte of brackets would hold the event loop of all chats for half a second.
 */

export interface ShapeBounds {
  /** Levels of nesting. */
  readonly depth: number;
  /** Commas outside of strings: about as many values are in it. */
  readonly parts: number;
}

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
/** `[` and `{`, `]` and `}`: in UTF-8 no byte of a longer character looks like one of these. */
const opens = (byte: number): boolean => byte === 0x5b || byte === 0x7b;
const closes = (byte: number): boolean => byte === 0x5d || byte === 0x7d;

/** Where the text of a string ends, at its closing quote or the end of the bytes. */
const endOfString = (bytes: Uint8Array, from: number): number => {
  let at = from;
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
  return at;
};

/** Is it shallow, and made of few parts? Says nothing about whether it is JSON. */
export const isSimple = (bytes: Uint8Array, bounds: ShapeBounds): boolean => {
  let depth = 0;
  let parts = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte === QUOTE) at = endOfString(bytes, at + 1);
    else if (byte === COMMA) parts += 1;
    else if (opens(byte)) depth += 1;
    else if (closes(byte)) depth -= 1;
    if (depth > bounds.depth || parts > bounds.parts) return false;
  }
  return true;
};
