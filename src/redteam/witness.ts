/**
 * What stands on the host for the time of a run: services that no container may reach, and a stand-in for the model's
 * provider that notes what arrives there. None of them can do anything but answer.
 */
import { createSocket, type Socket as DatagramSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { REHEARSAL_MODEL } from '../domain/provider-config.ts';
import { createCancel } from '../gateway/cancel.ts';
import { rehearsalUpstream } from '../gateway/rehearsal.ts';
import { hostileAnswer } from './hostile-upstream.ts';
import { ECHO_AGENT } from './model-request.ts';
import { type UpstreamRequest, WITNESS } from './probe.ts';

const LOOPBACK = '127.0.0.1';
const ANSWER = `HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: ${WITNESS.length + 1}\r\nconnection: close\r\n\r\n${WITNESS}\n`;

export interface Witness {
  readonly hostPort: number;
  readonly hostUdpPort: number;
  /** A name server at the host's address; false where port 53 can't be had. */
  readonly hasNameServer: boolean;
  readonly loopbackPort: number;
  /** The model's provider: the rehearsal model as a server. */
  readonly modelPort: number;
  /** Another of its kind, for the controls. */
  readonly controlModelPort: number;
  /** What has reached the provider, oldest first; only ever grows. */
  readonly requests: readonly UpstreamRequest[];
  readonly controlRequests: readonly UpstreamRequest[];
  close(): Promise<void>;
}

const portOf = (server: Server): number => {
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
};

const listening = async (server: Server, host: string): Promise<number> => {
  server.listen(0, host);
  await once(server, 'listening');
  return portOf(server);
};

/** Answers before it is asked, so that a bare connection is enough to know it by. */
const createWitnessServer = (): Server =>
  createServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.end(ANSWER);
    socket.resume();
  });

const oneText = (value: string | string[] | undefined): string =>
  Array.isArray(value) ? value.join(', ') : (value ?? '');

const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
  const over = createCancel();
  response.once('close', over.cancel);
  const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, oneText(value)]));
  const body = await buffer(request);
  const badly = hostileAnswer(body);
  if (badly !== null) return badly(response);
  const path = request.url ?? '/';
  // The rehearsal model would refuse it; a provider that has it doesn't.
  if (!body.includes(`"${REHEARSAL_MODEL}"`)) return void response.end(WITNESS);
  const told = await rehearsalUpstream({ path, headers, body, values: 0, cancel: over });
  response.writeHead(told.status, { ...told.headers });
  await pipeline(told.body, response);
};

const MODEL_PATH = /^\/v1\/messages(\/count_tokens)?(\?|$)/;

/** Whatever isn't a request to the model is answered, so that one which gets here is seen to have got here. */
const createModelServer = (requests: UpstreamRequest[]): Server =>
  createHttpServer((request, response) => {
    const { method = '', url = '', headers } = request;
    requests.push({ method, url, headers });
    if (headers['user-agent'] === ECHO_AGENT) {
      return void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(headers));
    }
    if (method !== 'POST' || !MODEL_PATH.test(url)) return void response.end(WITNESS);
    // A turn that ended took its connection with it.
    answer(request, response).catch(() => response.destroy());
  });

/** Set in the third byte of a query: this is the answer to it. */
const IS_ANSWER = 0x80;

/** Says of every name that it knows it not: enough to show that a query got out. */
const startNameServer = async (hostAddress: string): Promise<DatagramSocket | null> => {
  const server = createSocket({ type: 'udp4', reuseAddr: true });
  server.on('message', (query, { address, port }) => {
    const answer = Buffer.from(query);
    if (answer.length < 12) return;
    answer[2] = (answer[2] ?? 0) | IS_ANSWER;
    server.send(answer, port, address);
  });
  try {
    server.bind(53, hostAddress);
    await once(server, 'listening');
    return server;
  } catch {
    server.close(); // Taken, or not for us: the probe then says that nothing can be shown.
    return null;
  }
};

const closing = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    server.close(() => resolve());
    if ('closeAllConnections' in server && typeof server.closeAllConnections === 'function')
      server.closeAllConnections();
  });

/** `hostAddress`: where ordinary containers reach the host. */
export const startWitness = async (hostAddress: string): Promise<Witness> => {
  const requests: UpstreamRequest[] = [];
  const controlRequests: UpstreamRequest[] = [];
  const [host, loopback] = [createWitnessServer(), createWitnessServer()];
  const [model, controlModel] = [createModelServer(requests), createModelServer(controlRequests)];
  const udp = createSocket('udp4');
  udp.on('message', (_bytes, { address, port }) => udp.send(WITNESS, port, address));
  udp.bind(0, hostAddress);
  await once(udp, 'listening');
  const names = await startNameServer(hostAddress);
  return {
    hasNameServer: names !== null,
    hostPort: await listening(host, hostAddress),
    hostUdpPort: udp.address().port,
    loopbackPort: await listening(loopback, LOOPBACK),
    modelPort: await listening(model, LOOPBACK),
    controlModelPort: await listening(controlModel, LOOPBACK),
    requests,
    controlRequests,
    close: async () => {
      udp.close();
      names?.close();
      await Promise.all([host, loopback, model, controlModel].map(closing));
    },
  };
};
