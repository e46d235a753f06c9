/**
 * Answers that the gateway itself gives: JSON errors in the shape of the provider's API, so that a client library
 * reports them like the provider's own.
 */
import type { ServerResponse } from 'node:http';
import type { ModelApi } from './providers.ts';

const ERROR_TYPES: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  415: 'invalid_request_error',
  429: 'rate_limit_error',
  504: 'timeout_error',
  529: 'overloaded_error',
};

const errorType = (status: number): string =>
  ERROR_TYPES[status] ?? (status < 500 ? 'invalid_request_error' : 'api_error');

/** An error body as JSON text. */
export const errorBody = (api: ModelApi, status: number, message: string): string =>
  JSON.stringify(
    api === 'anthropic'
      ? { type: 'error', error: { type: errorType(status), message } }
      : { error: { message, type: errorType(status), param: null, code: null } },
  );

/** An error as an event of a stream that has begun; the blank line ends an event that was cut short. */
export const errorEvent = (api: ModelApi, message: string): string =>
  `\n\n${api === 'anthropic' ? 'event: error\n' : ''}data: ${errorBody(api, 502, message)}\n\n`;

export interface WholeAnswer {
  readonly status: number;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Sends a whole JSON answer, once; nothing when the client is gone or has been answered. */
export const sendJson = (response: ServerResponse, { status, body, headers }: WholeAnswer): void => {
  if (response.headersSent || response.destroyed) return;
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    ...headers,
  });
  response.end(body);
};

/** The same as bytes, for a connection that never became a request; it ends with this. */
export const rawAnswer = (status: number, phrase: string, body: string): string =>
  [
    `HTTP/1.1 ${status} ${phrase}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
    '',
    body,
  ].join('\r\n');
