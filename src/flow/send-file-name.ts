/**
 * The name that a sent file bears on the host and in the chat. Whoever chose the original may be hostile: no control
 * or direction characters, no separators, no leading dot or dash, bounded, never empty. Pure.
 */

/** Networks and file systems take more; people don't read more. */
const NAME_BYTES_MAX = 120;
const EXTENSION = /\.[A-Za-z0-9]{1,10}$/;

const bytesOf = (text: string): number => new TextEncoder().encode(text).length;

/** The longest beginning that fits, never half a character. */
const fitting = (text: string, maxBytes: number): string => {
  let fitted = '';
  let left = maxBytes;
  for (const character of text) {
    left -= bytesOf(character);
    if (left < 0) break;
    fitted += character;
  }
  return fitted;
};

/** Always a name that can stand in a directory; the extension survives where there is one. */
export const fileNameFor = (original: string): string => {
  const plain = original
    .normalize('NFC')
    .replace(/[\p{C}\p{Zl}\p{Zp}/\\:*?"'`$<>|]+/gu, '_')
    .replace(/\s+/gu, ' ')
    .replace(/^[\s.-]+|[\s.]+$/gu, '');
  const [extension = ''] = EXTENSION.exec(plain) ?? [];
  const stem = plain.slice(0, plain.length - extension.length);
  const name = `${fitting(stem, NAME_BYTES_MAX - extension.length).trimEnd()}${extension}`;
  return name.replace(/^\./, '') || 'file';
};
