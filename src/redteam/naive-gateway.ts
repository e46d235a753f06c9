/**
 * The control of the gateway's probes: a proxy as a hurried host would write it. It dials what it is told, keeps the
 * client's headers and forwards any path. The same attempt that our gateway stops must get through it.
 */
import { once } from 'node:events';
import {
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import { connect, type Socket } from 'node:net';
import { createKit } from './kit.ts';
import type { Arena, Control, Kit, Outcome } from './probe.ts';

interface Onward {
  readonly modelPort: number;
  readonly key: string;
}

const portOf = (server: Server): number => {
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
};

/** `/model/<any>` and dot segments are resolved away, the rest goes to the provider. */
const addressOf = (target: string, { modelPort }: Onward): URL => {
  const base = `http://127.0.0.1:${modelPort}`;
  const url = new URL(target, base);
  if (url.host !== new URL(base).host) return url;
  return new URL(`${base}${url.pathname.replace(/^\/model\/[^/]+/, '')}${url.search}`);
};

const forward = (request: IncomingMessage, response: ServerResponse, onward: Onward): void => {
  const url = addressOf(request.url ?? '/', onward);
  const headers = { 'x-api-key': onward.key, ...request.headers, connection: 'close' };
  const going = httpRequest(url, { method: request.method ?? 'GET', headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 502);
    answer.pipe(response);
  });
  going.on('error', () => response.destroy());
  request.pipe(going);
};

const tunnel = (request: IncomingMessage, client: Socket): void => {
  const { hostname, port } = new URL(`http://${request.url ?? ''}`);
  const server = connect({ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || 80) });
  for (const side of [client, server]) side.on('error', () => [client, server].map((one) => one.destroy()));
  server.once('connect', () => {
    client.write('HTTP/1.1 200 OK\r\n\r\n');
    client.pipe(server);
    server.pipe(client);
  });
};

const safely = (act: () => void, give: () => void): void => {
  try {
    act();
  } catch {
    give(); // A target that is no address at all: even this proxy can't dial it.
  }
};

const withNaiveGateway = async <T>(onward: Onward, work: (port: number) => Promise<T>): Promise<T> => {
  const server = createServer((request, response) =>
    safely(
      () => forward(request, response, onward),
      () => response.destroy(),
    ),
  );
  server.on('connect', (request: IncomingMessage, client: Socket) =>
    safely(
      () => tunnel(request, client),
      () => client.destroy(),
    ),
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    return await work(portOf(server));
  } finally {
    server.close();
    server.closeAllConnections();
  }
};

/** The attempt against the careless proxy; `then` may look at what reached the provider. */
export const naiveGateway = (
  attempt: (kit: Kit) => Promise<Outcome>,
  then: (arena: Arena, outcome: Outcome) => Outcome = (_arena, outcome) => outcome,
): Control => ({
  kind: 'naive',
  run: (arena) =>
    withNaiveGateway({ modelPort: arena.controlModelPort, key: arena.canaries['model-key'] }, async (port) =>
      then(arena, await attempt(createKit(arena.targets, port))),
    ),
});
