/** The tool with its real program, a proxy that knows hosts by name alone, and hosts that answer as a test wants. */
import { mkdir, mkdtemp, readFile, realpath, rm } from 'node:fs/promises';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { connect, createServer as createTcpServer, type Socket, type Server as TcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { execa } from 'execa';
import { commandEnvironment } from '../../container/runner/environment.ts';
import { Ipc } from '../../container/runner/ipc.ts';
import { webFetch } from '../../container/runner/tools/web-fetch.ts';

const ENTRY = fileURLToPath(new URL('../../container/web-fetch/main.ts', import.meta.url));

export interface CallOptions {
  readonly start?: number;
  readonly commandMs?: number;
  readonly toolOutputBytes?: number;
  readonly signal?: AbortSignal;
  readonly proxyPort?: number;
}

export interface Web {
  fetch(url: string, options?: CallOptions): Promise<string>;
  /** What the proxy was asked for, in order. */
  readonly asked: readonly string[];
  close(): Promise<void>;
}

/** By `host:port`. `raw`: bytes that are written as soon as somebody connects. */
export type Hosts = Readonly<
  Record<string, RequestListener | { readonly tls: RequestListener } | { readonly raw: string }>
>;

const listen = (server: TcpServer): Promise<number> =>
  new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : 0);
    });
  });

const certificate = async (directory: string): Promise<{ key: Buffer; cert: Buffer; path: string }> => {
  const [key, path] = [join(directory, 'key.pem'), join(directory, 'cert.pem')];
  const subject = ['-subj', '/CN=secure.test', '-addext', 'subjectAltName=DNS:secure.test'];
  await execa('openssl', [
    'req',
    '-x509',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:prime256v1',
    '-nodes',
    '-days',
    '2',
    '-keyout',
    key,
    '-out',
    path,
    ...subject,
  ]);
  return { key: await readFile(key), cert: await readFile(path), path };
};

const serverOf = (host: Hosts[string], tls: { key: Buffer; cert: Buffer }): TcpServer => {
  if (typeof host === 'function') return createServer(host);
  if ('tls' in host) return createTlsServer(tls, host.tls);
  return createTcpServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.write(host.raw);
  });
};

/** As the gateway's: the reason in the status line, and once more in the body. */
const refused = (reason: string): string => `HTTP/1.1 403 ${reason}\r\nconnection: close\r\n\r\ntierclaw: ${reason}\n`;

const startProxy = (ports: ReadonlyMap<string, number>, asked: string[]): Server => {
  const proxy = createServer((request, response) => {
    const url = new URL(request.url ?? '');
    asked.push(`${request.method} ${url.href}`);
    const port = ports.get(`${url.hostname}:${url.port || '80'}`);
    const { socket } = response;
    if (port === undefined || socket === null) return void request.socket.end(refused('no such host here'));
    // Bytes only: whatever the host says has to reach the client as it is.
    const there = connect(port, '127.0.0.1', () => {
      const head = [`GET ${url.pathname}${url.search} HTTP/1.1`];
      for (const [name, value] of Object.entries(request.headers)) head.push(`${name}: ${String(value)}`);
      there.write(`${head.join('\r\n')}\r\n\r\n`);
      there.pipe(socket);
    });
    for (const side of [there, socket]) side.on('error', () => there.destroy());
    socket.once('close', () => there.destroy());
  });
  proxy.on('connect', (request, socket: Socket) => {
    asked.push(`CONNECT ${request.url}`);
    socket.on('error', () => socket.destroy());
    const port = ports.get(request.url ?? '');
    if (port === undefined) return void socket.end(refused('no such host here'));
    const there = connect(port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection Established\r\n\r\n');
      there.pipe(socket).pipe(there);
    });
    there.on('error', () => socket.destroy());
  });
  return proxy;
};

const stop = (server: TcpServer): void => {
  server.close();
  if ('closeAllConnections' in server && typeof server.closeAllConnections === 'function') server.closeAllConnections();
};

const bundle = async (directory: string): Promise<string> => {
  const outfile = join(directory, 'web-fetch.mjs');
  await build({
    entryPoints: [ENTRY],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    logLevel: 'warning',
  });
  return outfile;
};

export const startWeb = async (hosts: Hosts): Promise<Web> => {
  const directory = await realpath(await mkdtemp(join(tmpdir(), 'tierclaw-web-')));
  await mkdir(join(directory, 'ipc'));
  const [program, tls] = await Promise.all([bundle(directory), certificate(directory)]);
  const ports = new Map<string, number>();
  const servers: TcpServer[] = [];
  for (const [name, host] of Object.entries(hosts)) {
    const server = serverOf(host, tls);
    servers.push(server);
    ports.set(name, await listen(server));
  }
  const asked: string[] = [];
  const proxy = startProxy(ports, asked);
  servers.push(proxy);
  const port = await listen(proxy);
  return {
    asked,
    fetch: (url, { start, commandMs = 60_000, toolOutputBytes = 20_000, signal, proxyPort = port } = {}) => {
      const tool = webFetch({
        directory,
        environment: {
          ...commandEnvironment({ PATH: process.env.PATH }, { home: directory, relayPort: port }),
          NODE_EXTRA_CA_CERTS: tls.path,
        },
        limits: { commandMs, toolOutputBytes },
        ipc: new Ipc({ directory: join(directory, 'ipc') }),
        web: { proxyPort, program },
      });
      const input = { url, ...(start === undefined ? {} : { start }) };
      return tool.run(input, { id: 'c1', signal: signal ?? new AbortController().signal });
    },
    close: async () => {
      for (const server of servers) stop(server);
      await rm(directory, { recursive: true, force: true });
    },
  };
};
