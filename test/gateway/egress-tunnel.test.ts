import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { judgeAddress } from '../../src/domain/egress-address.ts';
import { ownRanges } from '../../src/gateway/egress-reach.ts';
import {
  ask,
  connectTo,
  PUBLIC,
  PUBLIC_V6,
  readAll,
  type Setting,
  startEcho,
  startEgress,
  startHost,
  statusOf,
} from './egress-setup.ts';
import { post } from './setup.ts';

const NAMES = { 'example.org': [PUBLIC], 'two.example': ['93.184.216.35', PUBLIC], 'six.example': [PUBLIC_V6] };

const echo = async (setting: Setting = {}) => {
  const port = await startEcho();
  return startEgress({
    names: NAMES,
    hosts: { [`${PUBLIC}:443`]: port, [`${PUBLIC}:80`]: port, [`[${PUBLIC_V6}]:443`]: port },
    ...setting,
  });
};

describe('a tunnel', () => {
  it('carries bytes both ways to the address that was judged, and the end of each side', async () => {
    const { socketPath, doors, lines, events } = await echo();
    const { head, socket } = await connectTo(socketPath, 'Example.org:443');
    expect(head).toBe('HTTP/1.1 200 Connection Established\r\n\r\n');
    socket.end('hello');
    expect(await readAll(socket)).toBe('hello');
    expect(doors.dialled).toEqual([`${PUBLIC}:443`]);
    await expect.poll(lines).toHaveLength(1);
    const who = { group: 'local:lobby', tier: 'untrusted', invocation: '01J00000000000000000000000' };
    const where = { how: 'tunnel', host: 'example.org', port: 443, address: PUBLIC };
    expect(events).toMatchObject([
      { kind: 'egress-open', ...who, ...where },
      { kind: 'egress', ...who, ...where, verdict: 'allowed', reason: null, up: 5, down: 5, ms: expect.any(Number) },
    ]);
  });

  it.each([`${PUBLIC}:443`, `[${PUBLIC_V6}]:443`, 'six.example:443', 'example.org:80'])(
    'leads to %s',
    async (target) => {
      const { socketPath } = await echo();
      const { head, socket } = await connectTo(socketPath, target);
      expect(statusOf(head)).toBe(200);
      socket.end('x');
      expect(await readAll(socket)).toBe('x');
    },
  );

  it('passes on what came with the request', async () => {
    const { socketPath, lines } = await echo();
    const { socket, rest } = await ask(socketPath, 'CONNECT example.org:443 HTTP/1.1\r\nHost: x\r\n\r\nearly');
    socket.end(' late');
    expect(rest.toString() + (await readAll(socket))).toBe('early late');
    await expect.poll(lines).toMatchObject([{ up: 10, down: 10 }]);
  });

  it('works for a client of HTTP/1.0 that sends no Host', async () => {
    const { socketPath } = await echo();
    const { head } = await ask(socketPath, 'CONNECT example.org:443 HTTP/1.0\r\n\r\n');
    expect(statusOf(head)).toBe(200);
  });

  it('goes on in one direction when the other has ended', async () => {
    const port = await startHost((socket) => {
      socket.resume();
      socket.once('end', () => setTimeout(() => socket.end('after your end'), 50));
    });
    const { socketPath } = await startEgress({ names: NAMES, hosts: { [`${PUBLIC}:443`]: port } });
    const { socket } = await connectTo(socketPath, 'example.org:443');
    socket.end('mine');
    expect(await readAll(socket)).toBe('after your end');
  });

  it('ends with a host that ends, though the client goes on', async () => {
    const port = await startHost((socket) => void socket.end('bye'));
    const { socketPath, lines } = await startEgress({ names: NAMES, hosts: { [`${PUBLIC}:443`]: port } });
    const { socket, rest } = await connectTo(socketPath, 'example.org:443');
    expect(rest + (await readAll(socket))).toBe('bye');
    socket.end();
    await expect.poll(lines).toMatchObject([{ verdict: 'allowed', down: 3 }]);
  });

  it('is reset with a host that resets, and the gateway goes on', async () => {
    const port = await startHost((socket) => void socket.once('data', () => socket.resetAndDestroy()));
    const { socketPath, lines } = await startEgress({ names: NAMES, hosts: { [`${PUBLIC}:443`]: port } });
    const { socket } = await connectTo(socketPath, 'example.org:443');
    socket.write('x');
    expect(await readAll(socket)).toBe('');
    await expect.poll(lines).toMatchObject([{ verdict: 'allowed', up: 1, down: 0 }]);
    expect((await connectTo(socketPath, 'example.org:443')).head).toContain(' 200 ');
  });

  it('takes the next address where one can’t be reached', async () => {
    const { socketPath, doors, lines } = await echo();
    const { head, socket } = await connectTo(socketPath, 'two.example:443');
    expect(statusOf(head)).toBe(200);
    expect(doors.dialled).toEqual(['93.184.216.35:443', `${PUBLIC}:443`]);
    socket.destroy();
    await expect.poll(lines).toMatchObject([{ address: PUBLIC, verdict: 'allowed' }]);
  });

  it('holds back a host that sends faster than the client reads', async () => {
    let sent = 0;
    const port = await startHost((socket) => {
      const more = (): void => {
        for (let takes = !socket.destroyed; takes; sent += 65_536) takes = socket.write(Buffer.alloc(65_536));
      };
      socket.on('drain', more);
      more();
    });
    const { socketPath } = await startEgress({ names: NAMES, hosts: { [`${PUBLIC}:443`]: port } });
    await connectTo(socketPath, 'example.org:443');
    let last = -1;
    const rests = (): boolean => {
      const still = sent === last;
      last = sent;
      return still;
    };
    await expect.poll(rests, { interval: 300, timeout: 10_000 }).toBe(true);
    expect(sent).toBeLessThan(32 << 20);
  });

  it('is closed with the session, also while it is being opened', async () => {
    const { socketPath, session, lines } = await echo({
      names: { ...NAMES, 'never.example': () => new Promise(() => undefined) },
    });
    const open = await connectTo(socketPath, 'example.org:443');
    const opening = ask(socketPath, 'CONNECT never.example:443 HTTP/1.1\r\nHost: x\r\n\r\n');
    const ended = readAll(open.socket);
    await delay(50);
    await session.close();
    expect(await ended).toBe('');
    expect((await opening).head).toBe('');
    const told = lines().map(({ host, verdict, reason }) => `${host} ${verdict}: ${reason}`);
    expect(told.sort()).toEqual(['example.org allowed: the turn is over', 'never.example failed: the turn is over']);
  });

  it('on which nothing moves is ended', async () => {
    const { socketPath, lines } = await echo({ timeouts: { idleMs: 100 } });
    const { socket } = await connectTo(socketPath, 'example.org:443');
    expect(await readAll(socket)).toBe('');
    await expect.poll(lines).toMatchObject([{ verdict: 'allowed', reason: 'nothing moved' }]);
  });
});

describe('a tunnel is refused', () => {
  const refusalOf = async (setting: Setting, target: string) => {
    const egress = await startEgress(setting);
    const { head, rest, socket } = await connectTo(egress.socketPath, target);
    const body = rest.toString() + (await readAll(socket));
    await expect.poll(egress.lines).toHaveLength(1);
    return { ...egress, status: statusOf(head), head, body, line: egress.lines()[0] };
  };

  it.each([
    ['169.254.169.254:80', 403],
    ['127.0.0.1:443', 403],
    ['[::1]:443', 403],
    ['[fd00:ec2::254]:80', 403],
    ['10.0.0.1:443', 403],
    ['localhost:443', 403],
    ['metadata.google.internal:80', 403],
    ['93.184.216.34:22', 403],
    ['93.184.216.34:25', 403],
    ['93.184.216.34:0', 400],
    ['93.184.216.34', 400],
    [':443', 400],
    ['/model/claude/v1/messages', 400],
    ['2130706433:443', 400],
    ['0x7f.1:443', 400],
    ['[::ffff:7f00:1]:443', 403],
    ['example.org.:443', 400],
    ['user@example.org:443', 400],
  ])('to %s, without asking or dialling anybody', async (target, status) => {
    const { status: got, body, doors, line } = await refusalOf({ names: NAMES }, target);
    expect(got).toBe(status);
    expect(body).toMatch(/^tierclaw: .+\n$/);
    expect([...doors.asked, ...doors.dialled]).toEqual([]);
    expect(line).toMatchObject({ verdict: 'refused', up: 0, down: 0 });
  });

  it.each([
    ['loopback', ['127.0.0.1']],
    ['metadata', ['169.254.169.254']],
    ['a public and a private address', [PUBLIC, '10.0.0.1']],
    ['a private and a public address', ['::1', PUBLIC]],
    ['an address in disguise', ['::ffff:93.184.216.34']],
    ['no address', ['not an address']],
  ])('to a name that resolves to %s, and not told what it resolves to', async (_, addresses) => {
    const { status, head, body, doors, line } = await refusalOf({ names: { 'a.example': addresses } }, 'a.example:443');
    expect(status).toBe(403);
    expect(doors.dialled).toEqual([]);
    for (const address of addresses) expect(head + body).not.toContain(address);
    expect(line).toMatchObject({ verdict: 'refused', host: 'a.example' });
  });

  it('to an address of this machine that looks public, and to its neighbours', () => {
    const own = ownRanges(['93.184.216.34/20', '2606:2800:220:1::1/64', '5.5.5.5/8', '2a00::1/12']);
    const allowed = (address: string): boolean => judgeAddress(address, own).allow;
    expect(['93.184.216.34', '93.184.220.1', '2606:2800:220:1::2', '5.5.5.5', '2a00::1'].filter(allowed)).toEqual([]);
    expect(['93.184.128.1', '2606:2800:220:2::1', '5.6.7.8', '2a00::2'].filter(allowed)).toHaveLength(4);
  });

  it('where the second answer of the resolver is private, the first one being long gone', async () => {
    const answers = [[PUBLIC], ['127.0.0.1']];
    const { socketPath, doors } = await echo({ names: { 'rebind.example': () => answers.shift() ?? [] } });
    expect(statusOf((await connectTo(socketPath, 'rebind.example:443')).head)).toBe(200);
    expect(statusOf((await connectTo(socketPath, 'rebind.example:443')).head)).toBe(403);
    expect(doors.asked).toHaveLength(2);
    expect(doors.dialled).toEqual([`${PUBLIC}:443`]);
  });

  it.each([
    ['none', [], 403],
    ['allowlist', ['example.com'], 403],
    ['allowlist', ['example.org'], 200],
    ['allowlist', ['*.example.org'], 403],
  ] as const)('or not by the policy %s %j: %i', async (policy, allow, status) => {
    const { socketPath } = await echo({ egress: { policy, allow } });
    expect(statusOf((await connectTo(socketPath, 'example.org:443')).head)).toBe(status);
  });

  it('to a range that the home denies', async () => {
    const { status, line } = await refusalOf({ names: NAMES, egress: { deny: ['93.184.0.0/16'] } }, 'example.org:443');
    expect(status).toBe(403);
    expect(line).toMatchObject({ reason: `${PUBLIC} is in a range that is denied here` });
  });

  it('to an address in such a range, and not told that it is one', async () => {
    const { status, body, line } = await refusalOf({ egress: { deny: ['93.184.0.0/16'] } }, `${PUBLIC}:443`);
    expect(status).toBe(403);
    expect(body).toBe('tierclaw: this address may not be reached\n');
    expect(line).toMatchObject({ reason: `${PUBLIC} is in a range that is denied here` });
  });

  it.each<[string, Setting, string, number]>([
    ['that doesn’t exist', {}, 'nowhere.example:443', 502],
    ['without an address', { names: { 'empty.example': [] } }, 'empty.example:443', 502],
    [
      'that is never resolved',
      { names: { 'never.example': () => new Promise(() => undefined) }, timeouts: { resolveMs: 50 } },
      'never.example:443',
      504,
    ],
    ['that refuses', { names: NAMES }, 'example.org:443', 502],
  ])('or fails at a host %s', async (_, setting, target, status) => {
    const { status: got, line } = await refusalOf(setting, target);
    expect(got).toBe(status);
    expect(line).toMatchObject({ verdict: 'failed' });
  });

  it('and fails at a host that never answers, in time', async () => {
    const silent = { resolve: async () => [PUBLIC], dial: () => connect({ host: '192.0.2.1', port: 9, timeout: 0 }) };
    const { status, line } = await refusalOf({ doors: silent, timeouts: { connectMs: 80 } }, 'example.org:443');
    expect(status).toBe(502);
    expect(line).toMatchObject({ verdict: 'failed', address: PUBLIC });
  });

  it('where it can’t be put on record, and nobody is dialled', async () => {
    const record = ({ kind }: { kind: string }): void => {
      if (kind === 'egress-open') throw new Error('disk full');
    };
    const { status, doors } = await refusalOf({ names: NAMES, record }, 'example.org:443');
    expect(status).toBe(503);
    expect(doors.dialled).toEqual([]);
  });

  it('beyond the connections at once, over all turns of a group, and not of another', async () => {
    const { socketPath, open } = await echo({ egress: { connections: 2 } });
    const first = await connectTo(socketPath, 'example.org:443');
    const second = await open();
    await connectTo(second.socketPath, 'example.org:443');
    const { head } = await connectTo(second.socketPath, 'example.org:443');
    expect(statusOf(head)).toBe(429);
    expect(head).toMatch(/retry-after: 1\r\n/);
    const other = await open({ group: 'local:other' as never });
    expect(statusOf((await connectTo(other.socketPath, 'example.org:443')).head)).toBe(200);
    first.socket.destroy();
    await expect
      .poll(async () => statusOf((await connectTo(socketPath, 'example.org:443')).head), { interval: 20 })
      .toBe(200);
  });

  it('beyond the connections a minute, with the time to wait', async () => {
    const { socketPath } = await echo({ egress: { connectionsPerMinute: 2 } });
    for (const status of [200, 200, 429]) {
      const { head, socket } = await connectTo(socketPath, 'example.org:443');
      socket.destroy();
      expect(statusOf(head)).toBe(status);
      if (status === 429) expect(Number(/retry-after: (\d+)/.exec(head)?.[1])).toBeGreaterThan(20);
    }
  });

  it('beyond the bytes of a turn, of which no more get through than that', async () => {
    const { socketPath, lines } = await echo({ egress: { bytesPerTurn: 100_000 } });
    const { socket } = await connectTo(socketPath, 'example.org:443');
    const got = readAll(socket);
    socket.write(Buffer.alloc(1_000_000));
    expect((await got).length).toBeLessThanOrEqual(50_000);
    await expect.poll(lines).toMatchObject([{ verdict: 'allowed', reason: 'the bytes of this turn are used up' }]);
    expect(statusOf((await connectTo(socketPath, 'example.org:443')).head)).toBe(403);
  });
});

describe('hostile clients', () => {
  it('that are refused a thousand times leave a hundred lines and a count', async () => {
    const { socketPath, lines, events, session } = await startEgress();
    const one = async (): Promise<void> => {
      for (let count = 0; count < 25; count += 1) (await connectTo(socketPath, '10.0.0.1:443')).socket.destroy();
    };
    await Promise.all(Array.from({ length: 10 }, one));
    expect(lines()).toHaveLength(100);
    await session.close();
    expect(events.at(-1)).toMatchObject({ kind: 'egress-refusals', more: 150 });
  });

  it('that reset in every phase leave the gateway standing', async () => {
    const { socketPath } = await echo({ names: { ...NAMES, 'slow.example': () => delay(30, [PUBLIC]) } });
    const heads = [
      'CONNECT example.org:443 HTTP/1.1\r\nHost: x\r\n\r\n',
      'CONNECT slow.example:443 HTTP/1.1\r\nHost: x\r\n\r\n',
    ];
    for (const head of [...heads, 'CONNECT 10.0.0.1:443 HTTP/1.1\r\nHost: x\r\n\r\n', 'CONNECT exa', '']) {
      for (const afterMs of [0, 1, 10, 40]) {
        const socket = connect(socketPath, () => socket.write(head, () => setTimeout(() => socket.destroy(), afterMs)));
        socket.on('error', () => undefined);
      }
    }
    await delay(150);
    expect(statusOf((await connectTo(socketPath, 'example.org:443')).head)).toBe(200);
    expect((await post(socketPath, { path: '/nowhere' })).statusCode).toBe(404);
  });

  it('don’t outlive the session, nor get anything from it afterwards', async () => {
    const { socketPath, session } = await echo();
    await session.close();
    expect((await connectTo(socketPath, 'example.org:443')).head).toBe('');
  });
});
