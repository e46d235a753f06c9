/**
 * `/model` against a bare `node:http` pass-through from a unix socket to the same upstream: per request, per streamed
 * event, and with a stream far larger than the memory it may take. One client, one connection to each, taking turns.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Agent } from 'undici';
import { z } from 'zod';
import { atMost, type Bench, ratioAtMost } from './bench.ts';
import { type Child, startChild } from './child.ts';
import { EVENTS, FLOOD_BYTES, type Wanted } from './gateway-processes.ts';
import { type Figure, figure, interleave, timed } from './statistics.ts';

const RATIO_BAR = 1.3;
/** Of 200 MB: several times what one stream's buffers on the way hold, and far from all of it. */
const GROWTH_BAR_MB = 64;
/** In each round, so that the median is one of hundreds. */
const REQUESTS_PER_ROUND = 50;
/** Of each: until the engine has compiled what every request goes through. */
const WARM_UP_REQUESTS = 2000;
/** The client takes nothing for so long: whoever holds what isn't taken shows it. */
const PAUSE_MS = 500;

interface Route {
  readonly name: string;
  readonly path: string;
  readonly process: Child;
  readonly dispatcher: Agent;
}

const CONTENT = 'What was said before, at the length that a chat has by then. '.repeat(60);

const bodyFor = (wanted: Wanted): string =>
  JSON.stringify({
    model: 'm',
    max_tokens: 1000,
    stream: wanted !== 'whole',
    metadata: { user_id: wanted },
    messages: [{ role: 'user', content: CONTENT }],
  });

const post = async ({ dispatcher, path }: Route, wanted: Wanted) => {
  const headers = { 'content-type': 'application/json', 'anthropic-version': '2023-06-01' };
  const answer = await dispatcher.request({
    origin: 'http://bench',
    path,
    method: 'POST',
    headers,
    body: bodyFor(wanted),
  });
  if (answer.statusCode !== 200) throw new Error(`${path}: ${answer.statusCode} ${await answer.body.text()}`);
  return answer.body;
};

/** How long each event was under way, in ms. */
const eventDelays = async (route: Route): Promise<number[]> => {
  const delays: number[] = [];
  for await (const chunk of await post(route, 'events')) {
    const now = process.hrtime.bigint();
    for (const [, sent = ''] of String(chunk).matchAll(/"sent":"(\d+)"/g)) {
      delays.push(Number(now - BigInt(sent)) / 1e6);
    }
  }
  if (delays.length !== EVENTS) throw new Error(`${route.name}: ${delays.length} of ${EVENTS} events arrived`);
  return delays;
};

/** Reads a flood to its end, after a pause; gives the seconds of reading. */
const readFlood = async (route: Route): Promise<number> => {
  const body = await post(route, 'flood');
  await delay(PAUSE_MS);
  const { ms, value: size } = await timed(async () => {
    let bytes = 0;
    for await (const chunk of body) bytes += (chunk as Buffer).length;
    return bytes;
  });
  if (size < FLOOD_BYTES) throw new Error(`${route.name}: ${size} bytes of the flood arrived`);
  return ms / 1000;
};

type Series = Map<Route, number[]>;
const seriesFor = (routes: readonly Route[]): Series => new Map(routes.map((route) => [route, []]));
const add = (series: Series, route: Route, values: readonly number[]): void => void series.get(route)?.push(...values);

const requestMs = async (route: Route): Promise<number> => {
  const { ms } = await timed(async () => (await post(route, 'whole')).text());
  return ms;
};

const measureRequests = async (routes: readonly Route[], runs: number): Promise<Series> => {
  const series = seriesFor(routes);
  const one = (route: Route) => async () => add(series, route, [await requestMs(route)]);
  await interleave(
    WARM_UP_REQUESTS,
    routes.map((route) => () => requestMs(route).then(() => undefined)),
  );
  await interleave(runs * REQUESTS_PER_ROUND, routes.map(one));
  return series;
};

const measureEvents = async (routes: readonly Route[], runs: number): Promise<Series> => {
  const series = seriesFor(routes);
  await interleave(
    runs,
    routes.map((route) => async () => add(series, route, await eventDelays(route))),
  );
  return series;
};

const Growth = z.object({ growthMb: z.number() });

const measureFloods = async (routes: readonly Route[], runs: number) => {
  const [growth, rate] = [seriesFor(routes), seriesFor(routes)];
  const one = async (route: Route): Promise<void> => {
    await route.process.ask('begin', z.unknown());
    add(rate, route, [FLOOD_BYTES / 1e6 / (await readFlood(route))]);
    add(growth, route, [(await route.process.ask('end', Growth)).growthMb]);
  };
  await interleave(
    runs,
    routes.map((route) => () => one(route)),
  );
  return { growth, rate };
};

const figuresOf = (series: Series, what: string, unit: Figure['unit']): [Figure, Figure] => {
  const [ours, bare] = [...series].map(([route, values]) => figure(`${what}, ${route.name}`, unit, values));
  if (ours === undefined || bare === undefined) throw new Error('two routes are compared');
  return [ours, bare];
};

const measureAll = async (
  routes: readonly Route[],
  { runs, tell }: Parameters<Bench['measure']>[0],
): ReturnType<Bench['measure']> => {
  tell(`${runs * REQUESTS_PER_ROUND} requests each way`);
  const requests = figuresOf(await measureRequests(routes, runs), 'request', 'ms');
  tell(`${runs} streams of ${EVENTS} events each way`);
  const events = figuresOf(await measureEvents(routes, runs), 'streamed event', 'ms');
  tell(`${runs} streams of ${FLOOD_BYTES / 1024 ** 2} MB each way`);
  const { growth, rate } = await measureFloods(routes, runs);
  const grown = figuresOf(growth, '200 MB stream: memory growth', 'MB');
  return {
    checks: [
      ratioAtMost(...requests, RATIO_BAR),
      ratioAtMost(...events, RATIO_BAR),
      atMost('200 MB stream: memory growth, worst of all', grown[0].most, { bar: GROWTH_BAR_MB, unit: 'MB' }),
    ],
    figures: [...requests, ...events, ...grown, ...figuresOf(rate, '200 MB stream: rate', 'MB/s')],
    notes: [
      'client, upstream and the two compared are four processes; a figure is what the client sees',
      `a request's body is ${bodyFor('whole').length} bytes; in the 200 MB stream the client pauses ${PAUSE_MS} ms first`,
      `medians of the difference: ${[requests, events].map(([a, b]) => `${(1000 * (a.median - b.median)).toFixed(0)} µs`).join(' a request, ')} an event`,
    ],
  };
};

const Ready = z.object({ socketPath: z.string() });

const startRoute = async (
  role: 'gateway-ours' | 'gateway-bare',
  about: { name: string; path: string },
  args: readonly string[],
): Promise<Route> => {
  const process = await startChild([role, ...args], Ready);
  const { socketPath } = process.ready;
  return { ...about, process, dispatcher: new Agent({ connect: { socketPath }, connections: 1 }) };
};

const closeRoute = async ({ dispatcher, process }: Route): Promise<void> => {
  await dispatcher.destroy();
  await process.close();
};

const measure: Bench['measure'] = async (options) => {
  const directory = await mkdtemp(join(tmpdir(), 'tierclaw-bench-gateway-'));
  const upstream = await startChild(['gateway-upstream'], z.object({ port: z.number() }));
  const args = [String(upstream.ready.port), directory];
  const routes = [
    await startRoute('gateway-ours', { name: '/model', path: '/model/p/v1/messages' }, args),
    await startRoute('gateway-bare', { name: 'bare pass-through', path: '/v1/messages' }, args),
  ];
  try {
    return await measureAll(routes, options);
  } finally {
    await Promise.all(routes.map(closeRoute));
    await upstream.close();
    await rm(directory, { recursive: true, force: true });
  }
};

export const gateway: Bench = {
  name: 'gateway',
  title: 'a model request through the gateway, against a bare pass-through to the same upstream',
  measure,
};
