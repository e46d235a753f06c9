/**
 * The other processes of the egress bench: a host on loopback, and what is compared on the way to it: the gateway's
 * egress, and a CONNECT proxy in `node:net` that does as little as one can, with or without lines written to disk.
 */
import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { pino } from 'pino';
import { openAudit } from '../../src/audit.ts';
import { parseConfig } from '../../src/config.ts';
import { GroupId } from '../../src/domain/ids.ts';
import { DEFAULT_TIER, tierRow } from '../../src/domain/tiers.ts';
import type { NetworkDoors } from '../../src/gateway/egress-doors.ts';
import { resolveProviders } from '../../src/gateway/providers.ts';
import { createGateway, SOCKET_NAME } from '../../src/gateway/server.ts';
import { createSecrets } from '../../src/secrets.ts';
import { onQuestion, tellParent } from './child.ts';

export const EGRESS_ROLES = ['egress-host', 'egress-ours', 'egress-bare', 'egress-bare-lines'] as const;
type Role = (typeof EGRESS_ROLES)[number];

/** A public-looking address, dialled to the host on loopback. */
export const TARGET = '93.184.216.34:443';
export const FLOOD_BYTES = 200 * 1024 * 1024;
export const REQUEST = Buffer.from('r'.repeat(200));
export const FLOOD = Buffer.from('f'.repeat(200));
export const ANSWER_BYTES = 1000;

const listen = async (server: Server, where: { path: string } | { host: string; port: number }): Promise<void> => {
  await new Promise<void>((resolve) => server.listen(where, resolve));
};

const PIECE = Buffer.alloc(64 * 1024);

const flood = (socket: Socket): void => {
  const state = { left: FLOOD_BYTES / PIECE.length };
  const more = (): void => {
    while (state.left > 0) {
      state.left -= 1;
      if (!socket.write(PIECE)) return;
    }
    socket.end();
  };
  socket.on('drain', more);
  more();
};

const ANSWER = Buffer.alloc(ANSWER_BYTES, 'a');

/** Answers each request with as many bytes; a flood is the last thing on its connection. */
const serveHost = async (): Promise<void> => {
  const server = createServer({ noDelay: true }, (socket) => {
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => void (chunk[0] === FLOOD[0] ? flood(socket) : socket.write(ANSWER)));
  });
  await listen(server, { host: '127.0.0.1', port: 0 });
  onQuestion(() => undefined);
  tellParent({ port: (server.address() as AddressInfo).port });
};

const LINE = Buffer.from(`${'x'.repeat(400)}\n`);
const HEAD_END = '\r\n\r\n';

const joinHost = (client: Socket, port: number, line: () => void): void => {
  const host = connect({ host: '127.0.0.1', port, noDelay: true }, () => {
    client.write(`HTTP/1.1 200 OK${HEAD_END}`);
    client.pipe(host).pipe(client);
  });
  host.on('error', () => client.destroy());
  client.once('close', () => {
    host.destroy();
    line();
  });
};

const startBare = async (port: number, path: string, line: () => void): Promise<void> => {
  const server = createServer({ noDelay: true }, (client) => {
    client.on('error', () => undefined);
    client.once('data', (head) => {
      if (!head.includes(HEAD_END) || !head.toString('latin1').startsWith(`CONNECT ${TARGET} `))
        return client.destroy();
      line();
      return joinHost(client, port, line);
    });
  });
  await listen(server, { path });
};

const doorsTo = (port: number): NetworkDoors => ({
  resolve: async () => [],
  dial: () => connect({ host: '127.0.0.1', port, allowHalfOpen: true, noDelay: true }),
});

const startOurs = async (port: number, directory: string): Promise<string> => {
  const secrets = createSecrets(new Map(), '.env');
  const gateway = createGateway({
    providers: resolveProviders(parseConfig('', 'tierclaw.yaml'), secrets),
    secrets,
    logger: pino({ level: 'silent' }),
    egress: { audit: openAudit(join(directory, 'audit.jsonl'), Date.now), doors: doorsTo(port) },
    ledger: { reserve: () => ({ ok: true, day: '2026-01-01' }), settle: () => undefined },
  });
  const socketDirectory = join(directory, 'gateway');
  await mkdir(socketDirectory, { mode: 0o755 });
  const { egress, model } = tierRow(DEFAULT_TIER);
  const session = await gateway.open({
    invocation: '01J00000000000000000000000',
    group: GroupId.parse('local:bench'),
    socketDirectory,
    provider: 'rehearsal',
    models: ['rehearsal-1'],
    caps: model,
    tier: DEFAULT_TIER,
    credentials: [],
    egress: { ...egress, connectionsPerMinute: 1_000_000, bytesPerTurn: Number.MAX_SAFE_INTEGER },
  });
  // Kept: a session that nobody holds is collected, and its directory's descriptor with it.
  process.once('exit', () => session.use());
  return join(socketDirectory, SOCKET_NAME);
};

const lineWriter = (file: string): (() => void) => {
  const descriptor = openSync(file, 'a');
  process.once('exit', () => closeSync(descriptor));
  return () => {
    writeSync(descriptor, LINE);
    fdatasyncSync(descriptor);
  };
};

/** Runs until the parent ends it. */
export const serveEgressRole = async (role: Role, [port = '', directory = '']: readonly string[]): Promise<void> => {
  if (role === 'egress-host') return serveHost();
  onQuestion(() => undefined);
  const socketPath = join(directory, `${role}.sock`);
  if (role === 'egress-ours') return tellParent({ socketPath: await startOurs(Number(port), directory) });
  const line = role === 'egress-bare' ? () => undefined : lineWriter(join(directory, 'lines'));
  await startBare(Number(port), socketPath, line);
  tellParent({ socketPath });
};
