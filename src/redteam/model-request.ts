/** Raw requests to the gateway, as text on the wire. */
import { REHEARSAL_MODEL } from '../domain/provider-config.ts';

/** With this user agent, the provider's stand-in sends all headers back, the key among them. */
export const ECHO_AGENT = 'tc-echo';

export interface RawRequest {
  readonly method?: string;
  readonly target: string;
  readonly host?: string;
  /** Lines like `x-name: value`. */
  readonly headers?: readonly string[];
  readonly body?: string;
}

export const postTo = ({ method = 'POST', target, host = '127.0.0.1', headers = [], body = '' }: RawRequest): string =>
  [
    `${method} ${target} HTTP/1.1`,
    `host: ${host}`,
    'content-type: application/json',
    'anthropic-version: 2023-06-01',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
    ...headers,
    '',
    body,
  ].join('\r\n');

export interface ModelAsk {
  readonly model?: string;
  readonly maxTokens?: number;
  readonly text?: string;
  readonly stream?: boolean;
}

/** A body that the turn's own provider takes, but for what is asked for. */
export const modelRequest = ({
  model = REHEARSAL_MODEL,
  maxTokens = 64,
  text = 'hello',
  stream = false,
}: ModelAsk = {}): string =>
  JSON.stringify({
    model,
    max_tokens: maxTokens,
    messages: [{ role: 'user', content: text }],
    ...(stream ? { stream } : {}),
  });

/** 0: there was no answer. */
export const statusOf = (answer: string): number => Number(/^HTTP\/1\.[01] (\d{3})/.exec(answer)?.[1] ?? 0);
