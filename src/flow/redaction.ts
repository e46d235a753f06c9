/**
 * What a container says, without secrets: cleaned where it comes in, so that everything made of it (replies, news,
 * transcripts, records) is clean. A text that comes in pieces is watched across them.
 */
import { StringDecoder } from 'node:string_decoder';
import type { Secrets } from '../secrets.ts';
import type { Ending } from './ending.ts';

export type Redaction = Pick<Secrets, 'redact' | 'filter'>;

const cleanValue = (value: unknown, redact: Redaction['redact']): unknown => {
  if (typeof value === 'string') return redact(value);
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) return value.map((one) => cleanValue(one, redact));
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [redact(name), cleanValue(one, redact)]));
};

/** Every string of a parsed frame's part, field names among them; how deep it is, the frame's reader has bounded. */
export const cleaned = <T>(value: T, { redact }: Redaction): T =>
  // The shape stays; TypeScript can't follow it through the walk.
  cleanValue(value, redact) as T;

export const cleanedEnding = (ending: Ending, { redact }: Redaction): Ending => ({
  ...ending,
  detail: ending.detail === null ? null : redact(ending.detail),
  text: ending.text === null ? null : redact(ending.text),
});

export interface TextFilter {
  /** What may be shown by now; a possible beginning of a secret is held back. */
  push(delta: string): string;
  /** What was held back. */
  end(): string;
}

export const createTextFilter = ({ filter }: Redaction): TextFilter => {
  const bytes = filter();
  const decoder = new StringDecoder('utf8');
  return {
    push: (delta) => decoder.write(bytes.push(Buffer.from(delta))),
    end: () => decoder.write(bytes.end()),
  };
};
