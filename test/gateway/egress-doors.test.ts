import { once } from 'node:events';
import { networkInterfaces } from 'node:os';
import { describe, expect, it } from 'vitest';
import { openDoors, ownNetworks } from '../../src/gateway/egress-doors.ts';
import { connectTo, startEcho, startEgress, statusOf } from './egress-setup.ts';

describe('the machine’s own doors', () => {
  it('dial the address and port that they are told, open half each', async () => {
    const socket = openDoors().dial({ address: '127.0.0.1', port: await startEcho() });
    await once(socket, 'connect');
    socket.end('over there');
    const [answer] = await once(socket, 'data');
    expect(String(answer)).toBe('over there');
  });

  it('don’t open loopback for a container, though something listens there', async () => {
    const port = await startEcho();
    const { socketPath } = await startEgress({ doors: openDoors(), egress: { ports: [port] } });
    for (const host of ['127.0.0.1', '[::1]', 'localhost']) {
      expect(statusOf((await connectTo(socketPath, `${host}:${port}`)).head)).toBe(403);
    }
  });

  it('know the machine’s networks, and read them again when a second has passed', () => {
    const clock = { ms: 0 };
    const read = ownNetworks(() => clock.ms);
    const all = Object.values(networkInterfaces()).flatMap((addresses = []) => addresses.map(({ cidr }) => cidr));
    const first = read();
    expect(first).toEqual(all);
    expect(read()).toBe(first);
    clock.ms += 1000;
    expect(read()).not.toBe(first);
  });
});
