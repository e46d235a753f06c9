/**
 * Egress against a bare CONNECT proxy in `node:net`, and both against no proxy at all: a request in an open tunnel, a
 * tunnel opened for one request, and a flood. One client that takes turns; every part is a process of its own.
 */
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { z } from 'zod';
import { packageRoot } from '../../src/package-root.ts';
import { atMost, type Bench, type BenchOptions, ratioAtMost } from './bench.ts';
import { type Child, startChild } from './child.ts';
import { ANSWER_BYTES, FLOOD, FLOOD_BYTES, REQUEST, TARGET } from './egress-processes.ts';
import { type Figure, figure, interleave, timed } from './statistics.ts';

/** Throughput at least 0.6 of no proxy's. */
const FLOOD_BAR = 1 / 0.6;
const ADDED_BAR = 1.5;
const REQUESTS_PER_ROUND = 100;
const TUNNELS_PER_ROUND = 10;
const WARM_UP = 200;

interface Route {
  readonly name: string;
  /** An open connection to the host. */
  open(): Promise<Socket>;
}

const readSome = async (socket: Socket, bytes: number): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  let size = 0;
  while (size < bytes) {
    const [chunk] = (await once(socket, 'data')) as [Buffer];
    chunks.push(chunk);
    size += chunk.length;
  }
  return Buffer.concat(chunks);
};

const direct = (port: number): Route => ({
  name: 'no proxy',
  open: async () => {
    const socket = connect({ host: '127.0.0.1', port, noDelay: true });
    await once(socket, 'connect');
    return socket;
  },
});

const through = (name: string, socketPath: string): Route => ({
  name,
  open: async () => {
    const socket = connect({ path: socketPath });
    socket.write(`CONNECT ${TARGET} HTTP/1.1\r\nHost: ${TARGET}\r\n\r\n`);
    const head = await readSome(socket, 1);
    if (!head.toString('latin1').startsWith('HTTP/1.1 200')) throw new Error(`${name}: ${head.toString('latin1')}`);
    return socket;
  },
});

const exchange = async (socket: Socket): Promise<void> => {
  socket.write(REQUEST);
  await readSome(socket, ANSWER_BYTES);
};

const tunnelled = async (route: Route): Promise<void> => {
  const socket = await route.open();
  await exchange(socket);
  socket.destroy();
};

/** Seconds. */
const floodOnce = async (route: Route): Promise<number> => {
  const socket = await route.open();
  const { ms, value } = await timed(async () => {
    let bytes = 0;
    socket.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
    });
    socket.write(FLOOD);
    await once(socket, 'end');
    return bytes;
  });
  socket.destroy();
  if (value !== FLOOD_BYTES) throw new Error(`${route.name}: ${value} bytes of the flood arrived`);
  return ms / 1000;
};

/** In the order of the routes. */
const measureEach = async (
  routes: readonly Route[],
  { rounds, unit, what }: { readonly rounds: number; readonly unit: Figure['unit']; readonly what: string },
  one: (route: Route) => Promise<number>,
): Promise<readonly Figure[]> => {
  const values = routes.map((): number[] => []);
  await interleave(
    rounds,
    routes.map((route, at) => async () => void values[at]?.push(await one(route))),
  );
  return routes.map(({ name }, at) => figure(`${what}, ${name}`, unit, values[at] ?? []));
};

const msOf = async (work: () => Promise<void>): Promise<number> => (await timed(work)).ms;

const measureRequests = async (routes: readonly Route[], runs: number): Promise<readonly Figure[]> => {
  const sockets = new Map<Route, Socket>();
  for (const route of routes) sockets.set(route, await route.open());
  const one = async (route: Route): Promise<number> => {
    const socket = sockets.get(route);
    return socket === undefined ? Number.NaN : msOf(() => exchange(socket));
  };
  const what = 'request in an open tunnel';
  await measureEach(routes, { rounds: WARM_UP, unit: 'ms', what }, one);
  const figures = await measureEach(routes, { rounds: runs * REQUESTS_PER_ROUND, unit: 'ms', what }, one);
  for (const socket of sockets.values()) socket.destroy();
  return figures;
};

const measureTunnels = async (routes: readonly Route[], runs: number): Promise<readonly Figure[]> => {
  const one = (route: Route): Promise<number> => msOf(() => tunnelled(route));
  const what = 'tunnel for one request';
  await measureEach(routes, { rounds: WARM_UP / 10, unit: 'ms', what }, one);
  return measureEach(routes, { rounds: runs * TUNNELS_PER_ROUND, unit: 'ms', what }, one);
};

/** What each adds to no proxy's median, one over the other. */
const addedRatio = (what: string, [none, ours, bare]: readonly (Figure | undefined)[]) => {
  if (none === undefined || ours === undefined || bare === undefined) throw new Error('three routes are compared');
  const added = (ours.median - none.median) / Math.max(bare.median - none.median, 0.001);
  return atMost(`${what}: added by egress ÷ added by ${bare.name.split(', ').at(-1)}`, added, {
    bar: ADDED_BAR,
    unit: '×',
  });
};

const measureAll = async (routes: readonly Route[], { runs, tell }: BenchOptions): ReturnType<Bench['measure']> => {
  tell(`${runs * REQUESTS_PER_ROUND} requests each way`);
  const requests = await measureRequests(routes.slice(0, 3), runs);
  tell(`${runs * TUNNELS_PER_ROUND} tunnels each way`);
  const tunnels = await measureTunnels(routes, runs);
  tell(`${runs} floods of ${FLOOD_BYTES / 1024 ** 2} MB each way`);
  const floods = await measureEach(routes.slice(0, 3), { rounds: runs, unit: 'ms', what: '200 MB' }, async (route) => {
    return 1000 * (await floodOnce(route));
  });
  const [none, ours] = floods;
  if (none === undefined || ours === undefined) throw new Error('three routes are compared');
  return {
    checks: [
      ratioAtMost(ours, none, FLOOD_BAR),
      addedRatio('request', requests),
      addedRatio('tunnel', [tunnels[0], tunnels[1], tunnels[3]]),
    ],
    figures: [...requests, ...tunnels, ...floods],
    notes: [
      '1.67 × the time is 0.6 × the throughput',
      'egress puts each tunnel on record twice, on disk, before it is made and after; so does “bare proxy with lines”',
    ],
  };
};

const Ready = z.object({ socketPath: z.string() });

const measure: Bench['measure'] = async (options) => {
  // Not in a directory that may be memory: lines are written to disk.
  const directory = await mkdtemp(join(packageRoot(), 'dist', 'bench-egress-'));
  const children: Child[] = [];
  const start = async <T>(role: string, args: readonly string[], answer: z.ZodType<T>): Promise<T> => {
    const child = await startChild([role, ...args], answer);
    children.push(child);
    return child.ready;
  };
  try {
    const { port } = await start('egress-host', [], z.object({ port: z.number() }));
    const args = [String(port), directory];
    const routes = [
      direct(port),
      through('egress', (await start('egress-ours', args, Ready)).socketPath),
      through('bare proxy', (await start('egress-bare', args, Ready)).socketPath),
      through('bare proxy with lines', (await start('egress-bare-lines', args, Ready)).socketPath),
    ];
    return await measureAll(routes, options);
  } finally {
    for (const child of children) await child.close();
    await rm(directory, { recursive: true, force: true });
  }
};

export const egress: Bench = {
  name: 'egress',
  title: 'a tunnel through the gateway, against a bare CONNECT proxy and against no proxy',
  measure,
};
