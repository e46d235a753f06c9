/** From the bytes of a request file to a request, purely. Whatever doesn't parse says why, in words for the agent. */
import { z } from 'zod';
import { AnyRequest, MessageRequest, RequestId } from '../protocol.ts';
import { isSimple } from './json-shape.ts';

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

/** Far more than any request has. */
const BOUNDS = { depth: 32, parts: 1000 } as const;

const UTF8 = new TextDecoder('utf-8', { fatal: true });

const decode = (bytes: Uint8Array): string | null => {
  try {
    return UTF8.decode(bytes);
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
  if (!isSimple(bytes, BOUNDS)) {
    return bad('not-a-request', `at most ${BOUNDS.depth} levels of nesting and ${BOUNDS.parts} parts are allowed`);
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
