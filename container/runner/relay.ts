/**
 * The way out: a TCP server on loopback whose every connection is a connection to the gateway's socket. Bytes pass
 * unread, both ways, and each direction ends by itself (half-close), so HTTP, CONNECT tunnels and streams all work.
 */
import { connect, createServer, type Server, type Socket } from 'node:net';

export interface Relay {
  readonly port: number;
  close(): void;
}

const join = (client: Socket, gateway: Socket): void => {
  client.pipe(gateway);
  gateway.pipe(client);
  const drop = (): void => {
    client.destroy();
    gateway.destroy();
  };
  for (const side of [client, gateway]) {
    side.once('error', drop);
    // A side that closed without ending its stream would leave the other one waiting for ever.
    side.once('close', (hadError) => (hadError || !side.readableEnded ? drop() : undefined));
  }
};

const listening = (server: Server, port: number): Promise<number> =>
  new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      const address = server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : port);
    });
  });

/** Listens on 127.0.0.1; rejects when the port is taken. */
export const startRelay = async (port: number, socketPath: string): Promise<Relay> => {
  const open = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    open.add(client);
    client.once('close', () => open.delete(client));
    join(client, connect({ path: socketPath, allowHalfOpen: true }));
  });
  const bound = await listening(server, port);
  return {
    port: bound,
    close: () => {
      server.close();
      for (const client of open) client.destroy();
    },
  };
};
