import { createConnection, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { PUBLIC, startEcho, startEgress, startWeb } from './egress-setup.ts';

const get = (path: string): string => `GET http://example.org${path} HTTP/1.1\r\nHost: example.org\r\n\r\n`;
const TUNNEL = 'CONNECT example.org:443 HTTP/1.1\r\nHost: example.org:443\r\n\r\n';

/** A host that answers every path but /done without an end, and how many requests it has open. */
const start = async () => {
  const held = { requests: 0 };
  const port = await startWeb(({ url }, response) => {
    held.requests += 1;
    response.once('close', () => {
      held.requests -= 1;
    });
    response.write('a piece');
    if (url === '/done') response.end();
  });
  const hosts = { [`${PUBLIC}:80`]: port, [`${PUBLIC}:443`]: await startEcho() };
  return { held, ...(await startEgress({ names: { 'example.org': [PUBLIC] }, hosts })) };
};

const send = (socketPath: string, bytes: string): Socket => {
  const socket = createConnection(socketPath);
  socket.on('error', () => undefined).resume();
  socket.write(bytes);
  onTestFinished(() => void socket.destroy());
  return socket;
};

it.each([
  ['a request', get('/slow')],
  ['a request that is answered', get('/done')],
  ['a request of a model', 'GET /model/claude HTTP/1.1\r\nHost: x\r\n\r\n'],
  ['a tunnel', TUNNEL],
])('%s behind one that isn’t answered yet ends the connection, and holds nothing', async (_, second) => {
  const { socketPath, session, held, lines, doors } = await start();
  const socket = send(socketPath, get('/slow'));
  await expect.poll(() => held.requests).toBe(1);
  socket.write(second);
  await expect.poll(() => socket.destroyed).toBe(true);
  await expect.poll(() => [held.requests, lines().length, doors.dialled.length]).toEqual([0, 1, 1]);
  const closed = session.close().then(() => 'closed');
  expect(await Promise.race([closed, delay(2_000, 'still open')])).toBe('closed');
});

it('a thousand requests in one piece are one refusal', async () => {
  const { socketPath, session } = await start();
  const socket = send(socketPath, get('/slow').repeat(1000));
  await expect.poll(() => socket.destroyed).toBe(true);
  expect(session.use().refusals).toBe(1);
});

it('a request behind an answered one, and a tunnel behind that, are served', async () => {
  const { socketPath, lines } = await start();
  const socket = send(socketPath, get('/done'));
  await expect.poll(() => lines().length).toBe(1);
  socket.write(get('/done'));
  await expect.poll(() => lines().length).toBe(2);
  socket.write(TUNNEL);
  socket.end('hello');
  await expect.poll(() => lines().map(({ verdict }) => verdict)).toEqual(['allowed', 'allowed', 'allowed']);
});
