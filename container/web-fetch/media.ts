/** What an answer is by its header and first bytes, and its text in whatever character set it is written. */

export type Kind = 'html' | 'text' | 'other';

export interface Media {
  readonly kind: Kind;
  /** As the header has it, without parameters; '' where there is none. */
  readonly type: string;
  readonly charset: string | undefined;
}

const HTML: ReadonlySet<string> = new Set(['text/html', 'application/xhtml+xml']);
const TEXT =
  /^(text\/.+|application\/(.+\+)?(json|xml|yaml|x-yaml|javascript|x-javascript|ecmascript|toml|x-ndjson|jsonl|sql|x-sh)|.+\+(json|xml))$/;
const TYPE_CHARS = 100;
const SNIFF_BYTES = 8192;
/** Where a page has to say its character set. */
const META_BYTES = 4096;

const kindOf = (type: string): Kind => {
  if (HTML.has(type)) return 'html';
  return TEXT.test(type) ? 'text' : 'other';
};

/** A missing type is for `sniff` to find out. */
export const mediaOf = (header: string | undefined): Media => {
  const [first = '', ...parameters] = (header ?? '').split(';');
  const type = first.trim().toLowerCase().slice(0, TYPE_CHARS);
  const charset = parameters
    .map((parameter) => /^\s*charset\s*=\s*"?([\w.:-]{1,40})"?\s*$/i.exec(parameter)?.[1])
    .find((found) => found !== undefined);
  return { kind: type === '' ? 'text' : kindOf(type), type, charset };
};

const decoderFor = (label: string): InstanceType<typeof TextDecoder> | undefined => {
  try {
    return new TextDecoder(label);
  } catch {
    // RangeError: nobody knows a character set by that name.
    return undefined;
  }
};

/** First match wins, as in browsers: the byte order mark, the header, the page itself. */
const charsetOf = (bytes: Buffer, media: Media): string => {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le';
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'utf-16be';
  if (media.charset !== undefined) return media.charset;
  const start = bytes.subarray(0, META_BYTES).toString('latin1');
  return /<meta[^>]{0,200}charset\s*=\s*["']?\s*([\w.:-]{1,40})/i.exec(start)?.[1] ?? 'utf-8';
};

export const decode = (bytes: Buffer, media: Media): string =>
  (decoderFor(charsetOf(bytes, media)) ?? new TextDecoder()).decode(bytes);

/** What the bytes say where the header is silent or wrong: text has no NUL in it, and HTML begins like HTML. */
export const sniff = (text: string, media: Media): Kind => {
  const start = text.slice(0, SNIFF_BYTES);
  if (start.includes('\0')) return 'other';
  const looksLikeHtml = /^\s*(<!--[\s\S]{0,2000}?-->\s*)?<(!doctype html|html|head|body)\b/i.test(start);
  return looksLikeHtml && (media.type === '' || media.type === 'text/plain') ? 'html' : media.kind;
};
