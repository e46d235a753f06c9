/** A made-up internet on loopback for egress tests: names and public-looking addresses, and what stands behind them. */
import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import type { AuditEvent } from '../../src/audit.ts';
import type { Egress } from '../../src/domain/egress.ts';
import type { NetworkDoors } from '../../src/gateway/egress-doors.ts';
import { EGRESS_TIMEOUTS, type EgressTimeouts } from '../../src/gateway/egress-reach.ts';
import type { GatewayGrant } from '../../src/gateway/gateway.ts';
import { configFor, EGRESS, openSession, startGateway } from './setup.ts';

/** Public-looking, and nobody's here: everything is dialled to loopback. */
export const PUBLIC = '93.184.216.34';
export const PUBLIC_V6 = '2606:2800:220:1::1';

const listen = async (server: ReturnType<typeof createServer>): Promise<number> => {
  const open = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    open.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => open.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
};

/** Gives the loopback port. Ends of connections are the server's own (half-open). */
export const startHost = (serve: (socket: Socket) => void): Promise<number> =>
  listen(createServer({ allowHalfOpen: true }, serve));

export const startWeb = (serve: RequestListener): Promise<number> => listen(createHttpServer(serve));

/** Sends everything back, and the end. */
export const startEcho = (): Promise<number> => startHost((socket) => void socket.pipe(socket));

export interface MadeUp {
  /** Of a name; a function is asked every time. Names that aren't here don't exist. */
  readonly names?: Readonly<Record<string, readonly string[] | (() => readonly string[] | Promise<readonly string[]>)>>;
  /** Loopback port behind `address:port`, in the form of a URL's authority; what isn't here refuses. */
  readonly hosts?: Readonly<Record<string, number>>;
}

export interface Doors extends NetworkDoors {
  readonly asked: string[];
  readonly dialled: string[];
}

/** A free port of loopback on which nobody listens. */
const CLOSED_PORT = 1;

export const madeUpDoors = ({ names = {}, hosts = {} }: MadeUp): Doors => {
  const [asked, dialled]: [string[], string[]] = [[], []];
  return {
    asked,
    dialled,
    resolve: async (host) => {
      asked.push(host);
      const known = names[host];
      if (known === undefined) throw new Error(`ENOTFOUND ${host}`);
      return typeof known === 'function' ? known() : known;
    },
    dial: ({ address, port }) => {
      const name = address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
      dialled.push(name);
      return connect({ host: '127.0.0.1', port: hosts[name] ?? CLOSED_PORT, allowHalfOpen: true, noDelay: true });
    },
  };
};

export interface Setting extends MadeUp {
  readonly egress?: Partial<Egress>;
  readonly timeouts?: Partial<EgressTimeouts>;
  readonly grant?: Partial<GatewayGrant>;
  readonly record?: (event: AuditEvent) => void;
  readonly doors?: NetworkDoors;
}

/** A gateway whose network is made up, one session of it, and what the audit trail got. */
export const startEgress = async (setting: Setting = {}) => {
  const events: AuditEvent[] = [];
  const record = (event: AuditEvent): void => {
    setting.record?.(event);
    events.push(event);
  };
  const doors = madeUpDoors(setting);
  const timeouts = { ...EGRESS_TIMEOUTS, ...setting.timeouts };
  const { gateway, log } = startGateway({
    yaml: configFor('http://127.0.0.1:9'),
    options: { egress: { audit: { record }, doors: setting.doors ?? doors, timeouts } },
  });
  const open = (grant: Partial<GatewayGrant> = {}) =>
    openSession(gateway, { ...setting.grant, ...grant, egress: { ...EGRESS, ...setting.egress, ...grant.egress } });
  const { session, socketPath } = await open();
  /** Lines of connections that are over or were refused. */
  const lines = () => events.filter(({ kind }) => kind === 'egress');
  return { doors, events, lines, session, socketPath, open, log };
};

/** A connection that has sent a head: what came back to the end of the answer's head, and the connection. */
export const ask = async (
  socketPath: string,
  head: string,
): Promise<{ head: string; rest: Buffer; socket: Socket }> => {
  const socket = connect({ path: socketPath, allowHalfOpen: true });
  socket.on('error', () => undefined);
  onTestFinished(() => void socket.destroy());
  socket.write(head);
  const got: { bytes: Buffer } = { bytes: Buffer.alloc(0) };
  await new Promise<void>((resolve) => {
    const onData = (chunk: Buffer): void => {
      got.bytes = Buffer.concat([got.bytes, chunk]);
      if (!got.bytes.includes('\r\n\r\n')) return;
      socket.off('data', onData);
      socket.pause();
      resolve();
    };
    socket.on('data', onData);
    socket.once('end', () => resolve());
    socket.once('close', () => resolve());
  });
  const end = got.bytes.indexOf('\r\n\r\n') + 4;
  return { head: got.bytes.subarray(0, end).toString('latin1'), rest: got.bytes.subarray(end), socket };
};

export const connectTo = (socketPath: string, target: string) =>
  ask(socketPath, `CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n\r\n`);

/** Everything until the other side ends. */
export const readAll = (socket: Socket): Promise<string> =>
  new Promise((resolve) => {
    const chunks: Buffer[] = [];
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.once('end', () => resolve(Buffer.concat(chunks).toString('latin1')));
    socket.once('close', () => resolve(Buffer.concat(chunks).toString('latin1')));
    socket.resume();
  });

export const statusOf = (head: string): number => Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1] ?? 0);
