import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Relay, startRelay } from '../../container/runner/relay.ts';

/** Everything until the other side ends its half; `text()` of Node's consumers would close ours as well. */
const text = (socket: Socket): Promise<string> =>
  new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    socket.once('end', () => resolve(Buffer.concat(chunks).toString()));
    socket.once('error', reject);
  });

describe('the relay', () => {
  let directory: string;
  let socketPath: string;
  let relay: Relay;
  let server: Server | undefined;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'tierclaw-relay-'));
    socketPath = join(directory, 'gateway.sock');
    relay = await startRelay(0, socketPath);
  });
  afterEach(async () => {
    relay.close();
    server?.close();
    await rm(directory, { recursive: true, force: true });
  });

  const gateway = (onConnection: (socket: Socket) => void): Promise<void> =>
    new Promise((resolve) => {
      server = createServer({ allowHalfOpen: true }, onConnection).listen(socketPath, resolve);
    });
  const client = (): Socket => connect({ port: relay.port, host: '127.0.0.1', allowHalfOpen: true });
  it('lets the gateway answer after the client has ended its half', async () => {
    await gateway(async (socket) => {
      const asked = await text(socket);
      socket.end(`you said ${asked}`);
    });
    const socket = client();
    socket.end('all of this');
    expect(await text(socket)).toBe('you said all of this');
  });

  it('lets the client go on after the gateway has ended its half', async () => {
    const heard = new Promise<string>((resolve) => {
      void gateway((socket) => {
        socket.end('bye');
        void text(socket).then(resolve);
      });
    });
    const socket = client();
    expect(await text(socket)).toBe('bye');
    socket.end('still here');
    expect(await heard).toBe('still here');
  });

  it('carries megabytes unchanged', async () => {
    await gateway((socket) => socket.pipe(socket));
    const sent = 'x0123456789abcde'.repeat(300_000);
    const socket = client();
    socket.end(sent);
    expect((await text(socket)) === sent).toBe(true);
  });

  it('ends the client’s connection when there is no gateway, and when the gateway drops it', async () => {
    expect(await text(client())).toBe('');
    await gateway((socket) => socket.destroy());
    expect(await text(client())).toBe('');
  });

  it('ends the gateway’s connection when the client breaks off', async () => {
    const heard = new Promise<string>((resolve) => {
      void gateway((socket) => {
        socket.write('hello');
        void text(socket).then(resolve);
      });
    });
    const socket = client();
    socket.once('data', () => socket.resetAndDestroy());
    expect(await heard).toBe('');
  });

  it('refuses a port that is taken', async () => {
    await expect(startRelay(relay.port, socketPath)).rejects.toThrow('EADDRINUSE');
  });
});
