/**
 * What a client is told that doesn't get through: a status and the reason, in the status line too, because many tools
 * show nothing else of a proxy's answer.
 */
import type { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { EgressRefusal } from './egress-reach.ts';

type Told = Pick<EgressRefusal, 'status' | 'reason' | 'retryAfterSeconds'>;

const bodyOf = ({ reason }: Told): string => `tierclaw: ${reason}\n`;
/** Nothing but what a status line may hold. */
const phraseOf = ({ reason }: Told): string => reason.replace(/[^ -~]/g, '?').slice(0, 200);

const headersOf = (told: Told): Readonly<Record<string, string>> => ({
  'content-type': 'text/plain; charset=utf-8',
  'content-length': String(Buffer.byteLength(bodyOf(told))),
  connection: 'close',
  ...(told.retryAfterSeconds === undefined ? {} : { 'retry-after': String(told.retryAfterSeconds) }),
});

/** Once, and nothing where the client is gone or has been answered. */
export const answerRefusal = (response: ServerResponse, told: Told): void => {
  if (response.destroyed) return;
  if (response.headersSent) return void response.destroy();
  response.writeHead(told.status, phraseOf(told), headersOf(told));
  response.end(bodyOf(told));
};

/** The same on a connection that asked for a tunnel; it ends with this. */
export const endRefused = (socket: Duplex, told: Told): void => {
  if (socket.destroyed) return;
  const head = Object.entries(headersOf(told)).map(([name, value]) => `${name}: ${value}`);
  const answer = [`HTTP/1.1 ${told.status} ${phraseOf(told)}`, ...head, '', bodyOf(told)].join('\r\n');
  socket.end(answer, () => socket.destroy());
};

export const ESTABLISHED = 'HTTP/1.1 200 Connection Established\r\n\r\n';
