/** From the bytes of a request file to a request, purely. Whatever doesn't parse says why, in words for the agent. */
import { z } from 'zod';
import { AnyRequest, MessageRequest, RequestId } from '../protocol.ts';

/** A request of a kind that this version can't perform: enough to decide, refuse and answer. */
export interface OtherRequest {
  readonly type: string;
  readonly id: string;
  readonly chat?: string | undefined;
}

export type ParseFault = 'not-utf8' | 'not-json' | 'not-a-request' | 'invalid-request';

export type Parsed =
  | { readonly kind: 'message'; readonly request: MessageRequest }
  | { readonly kind: 'other'; readonly request: OtherRequest }
  | { readonly kind: 'bad'; readonly fault: ParseFault; readonly detail: string; readonly id?: string | undefined };

const KNOWN: ReadonlySet<string> = new Set(MessageRequest.options.map((option) => option.shape.type.value));

const bad = (fault: ParseFault, detail: string, id?: string): Parsed => ({ kind: 'bad', fault, detail, id });

/** Far more than any request has. Parsing a megabyte of brackets would hold the event loop for half a second. */
const DEPTH_MAX = 32;
const PARTS_MAX = 1000;
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

/** One cheap pass before the parser: is it shallow, and made of few parts? */
export const isSimple = (bytes: Uint8Array): boolean => {
  let depth = 0;
  let parts = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte === QUOTE) at = endOfString(bytes, at + 1);
    else if (byte === COMMA) parts += 1;
    else if (opens(byte)) depth += 1;
    else if (closes(byte)) depth -= 1;
    if (depth > DEPTH_MAX || parts > PARTS_MAX) return false;
  }
  return true;
};

const decode = (bytes: Uint8Array): string | null => {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return null; // Invalid UTF-8 is what `fatal` throws for.
  }
};

const parseJson = (text: string): { readonly value: unknown } | null => {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return null; // Not JSON: the only thing that JSON.parse throws for.
  }
};

const classify = (value: unknown): Parsed => {
  const message = MessageRequest.safeParse(value);
  if (message.success) return { kind: 'message', request: message.data };
  const any = AnyRequest.safeParse(value);
  if (!any.success) return bad('not-a-request', 'a request is an object with "type" and "id"');
  const { type, id, chat } = any.data;
  if (!KNOWN.has(type))
    return { kind: 'other', request: { type, id, chat: typeof chat === 'string' ? chat : undefined } };
  return bad('invalid-request', z.prettifyError(message.error).slice(0, 1000), id);
};

/** Never throws. */
export const parseRequest = (bytes: Uint8Array): Parsed => {
  const text = decode(bytes);
  if (text === null) return bad('not-utf8', 'a request is UTF-8 text');
  if (!isSimple(bytes)) {
    return bad('not-a-request', `at most ${DEPTH_MAX} levels of nesting and ${PARTS_MAX} parts are allowed`);
  }
  const json = parseJson(text);
  if (json === null)
    return bad('not-json', 'a request is one JSON object, written under another name and then renamed');
  return classify(json.value);
};

/** Dot-files are half-written; other names mean nothing. */
export const isRequestFile = (name: string): boolean => name.endsWith('.json') && !name.startsWith('.');

/** `<id>.json` names the request even where its content can't be read. */
export const idOfFile = (name: string): string | undefined => {
  const id = RequestId.safeParse(name.replace(/\.json$/, ''));
  return id.success ? id.data : undefined;
};
