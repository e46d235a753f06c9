/**
 * The way to a host through the proxy: an https request gets a tunnel and its own TLS inside of it, so that the proxy
 * sees a host's name and no more. A refusal comes back with the proxy's own words.
 */
import { type ClientRequest, type IncomingMessage, request as plainRequest } from 'node:http';
import { request as tlsRequest } from 'node:https';
import { isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { FetchFailure } from './failure.ts';

export interface Way {
  /** On loopback. */
  readonly proxyPort: number;
  readonly signal: AbortSignal;
}

const HEADERS = {
  'user-agent': 'Mozilla/5.0 (compatible; TierClaw web_fetch)',
  accept: 'text/html, application/xhtml+xml, text/plain, text/markdown, application/json, */*;q=0.5',
  'accept-encoding': 'gzip, br',
  'accept-language': 'en, *;q=0.5',
  connection: 'close',
} as const;

/** The proxy says why in its status line: of a refused tunnel, nothing else is read. */
export const refusal = (url: URL, { statusCode, statusMessage }: IncomingMessage): FetchFailure =>
  new FetchFailure(`${url.host}: ${statusMessage || 'refused'} (${statusCode} from the proxy)`);

/** Asks the proxy for `CONNECT host:port`. */
const openTunnel = (url: URL, { proxyPort, signal }: Way): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const authority = `${url.hostname}:${url.port || '443'}`;
    const asked = plainRequest({
      host: '127.0.0.1',
      port: proxyPort,
      method: 'CONNECT',
      path: authority,
      headers: { host: authority },
      agent: false,
      signal,
    });
    asked.once('connect', (answer, socket: Socket) => {
      if (answer.statusCode === 200) return resolve(socket);
      socket.destroy();
      reject(refusal(url, answer));
    });
    asked.on('error', reject);
    asked.end();
  });

const throughTunnel = async (url: URL, way: Way): Promise<ClientRequest> => {
  const socket = await openTunnel(url, way);
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const secure = connectTls({ socket, host, ...(isIP(host) === 0 ? { servername: host } : {}) });
  socket.on('error', (error) => secure.destroy(error));
  return tlsRequest(url, { headers: HEADERS, createConnection: () => secure, signal: way.signal });
};

const absolute = (url: URL, { proxyPort, signal }: Way): ClientRequest =>
  plainRequest({
    host: '127.0.0.1',
    port: proxyPort,
    path: url.href,
    headers: { ...HEADERS, host: url.host },
    agent: false,
    signal,
  });

/** One GET; resolves with the answer's head, its body yet unread. Rejects with what went wrong on the way. */
export const get = async (url: URL, way: Way): Promise<IncomingMessage> => {
  const request = url.protocol === 'https:' ? await throughTunnel(url, way) : absolute(url, way);
  return new Promise((resolve, reject) => {
    request.once('response', resolve);
    // Also after the answer's head: unheard, it would end the process; the body's reader hears of it, too.
    request.on('error', reject);
    request.end();
  });
};
