/**
 * The other processes of the gateway's bench: a provider's stand-in on loopback, which doesn't know which of the two a
 * request came through, and the two things compared: the gateway and a bare pass-through.
 */
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { Agent, createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, ListenOptions } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import { z } from 'zod';
import { parseConfig } from '../../src/config.ts';
import { GroupId } from '../../src/domain/ids.ts';
import { DEFAULT_TIER, tierRow } from '../../src/domain/tiers.ts';
import type { GatewaySession } from '../../src/gateway/gateway.ts';
import { resolveProviders } from '../../src/gateway/providers.ts';
import { createGateway, SOCKET_NAME } from '../../src/gateway/server.ts';
import { homeAt } from '../../src/home.ts';
import { createSecrets } from '../../src/secrets.ts';
import { createSpendLedger } from '../../src/store/spend-ledger.ts';
import { openStores } from '../../src/store/stores.ts';
import { onQuestion, tellParent } from './child.ts';

export const GATEWAY_ROLES = ['gateway-upstream', 'gateway-ours', 'gateway-bare'] as const;

/** In the request's `metadata.user_id`: what the stand-in answers with. */
export type Wanted = 'whole' | 'events' | 'flood';

export const EVENTS = 200;
const EVENT_EVERY_MS = 2;
export const FLOOD_BYTES = 200 * 1024 * 1024;

/** A piece of an answer as a provider streams it, with the time at which it was sent (ns, the machine's own clock). */
const event = (): string => {
  const delta = { type: 'text_delta', text: 'a few words of an answer ' };
  const sent = process.hrtime.bigint().toString();
  return `event: content_block_delta\ndata: ${JSON.stringify({ type: 'content_block_delta', index: 0, delta, sent })}\n\n`;
};

const WHOLE = JSON.stringify({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content: [{ type: 'text', text: 'a few words of an answer '.repeat(40) }],
  stop_reason: 'end_turn',
  usage: { input_tokens: 700, output_tokens: 200 },
});

const answerWhole = async (response: ServerResponse): Promise<void> => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(WHOLE) });
  response.end(WHOLE);
};

const answerEvents = async (response: ServerResponse): Promise<void> => {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (let sent = 0; sent < EVENTS; sent += 1) {
    await delay(EVENT_EVERY_MS);
    response.write(event());
  }
  response.end();
};

const answerFlood = async (response: ServerResponse): Promise<void> => {
  const piece = event().repeat(256);
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (let sent = 0; sent < FLOOD_BYTES; sent += piece.length) {
    if (!response.write(piece)) await once(response, 'drain');
  }
  response.end();
};

const ANSWERS: Readonly<Record<Wanted, (response: ServerResponse) => Promise<void>>> = {
  whole: answerWhole,
  events: answerEvents,
  flood: answerFlood,
};

const Body = z.object({ metadata: z.object({ user_id: z.enum(['whole', 'events', 'flood']) }) });

const readAll = async (incoming: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
};

const listen = async (server: Server, where: ListenOptions): Promise<void> => {
  server.listen(where);
  await once(server, 'listening');
};

const serveUpstream = async (): Promise<void> => {
  const server = createServer(async (incoming, response) => {
    const { metadata } = Body.parse(JSON.parse(await readAll(incoming)));
    await ANSWERS[metadata.user_id](response);
  });
  server.keepAliveTimeout = 0;
  await listen(server, { host: '127.0.0.1', port: 0 });
  onQuestion(() => undefined);
  tellParent({ port: (server.address() as AddressInfo).port });
};

/** As little as a proxy can do: every header both ways, no look at the body. */
const startPassThrough = async (port: number, path: string): Promise<void> => {
  const agent = new Agent({ keepAlive: true });
  const server = createServer((incoming, response) => {
    const { method, url, headers } = incoming;
    const outgoing = request({ agent, host: '127.0.0.1', port, method, path: url, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    incoming.pipe(outgoing);
  });
  server.keepAliveTimeout = 0;
  await listen(server, { path });
};

const KEY = 'sk-a-key-of-the-bench-0123456789';

/** As the supervisor has it. */
const openLedger = (home: string) =>
  createSpendLedger({
    ...openStores(homeAt(home), Date.now),
    onError: (thrown) => {
      throw thrown;
    },
  });

const startGateway = async (port: number, socketDirectory: string): Promise<GatewaySession> => {
  const yaml = `provider: p\nproviders:\n  p: { kind: anthropic, baseUrl: "http://127.0.0.1:${port}", apiKey: KEY, models: [m] }\n`;
  const secrets = createSecrets(new Map([['KEY', KEY]]), '.env');
  const providers = resolveProviders(parseConfig(yaml, 'tierclaw.yaml'), secrets);
  const gateway = createGateway({
    providers,
    secrets,
    logger: pino({ level: 'silent' }),
    egress: { audit: { record: () => undefined } },
    ledger: openLedger(`${socketDirectory}-home`),
  });
  await mkdir(socketDirectory, { mode: 0o755 });
  const caps = { ...tierRow(DEFAULT_TIER).model, requestsPerMinute: 1_000_000, tokensPerDay: null, usdPerDay: null };
  return gateway.open({
    invocation: '01J00000000000000000000000',
    group: GroupId.parse('local:bench'),
    socketDirectory,
    provider: 'p',
    models: ['m'],
    caps,
    tier: DEFAULT_TIER,
    egress: tierRow(DEFAULT_TIER).egress,
    credentials: [],
  });
};

const MB = 1024 * 1024;
const SAMPLE_EVERY_MS = 10;

/** How far this process's memory rises between `begin` and `end`, in MB. */
const createMemoryWatch = () => {
  const state = { before: 0, most: 0, timer: undefined as NodeJS.Timeout | undefined };
  const sample = (): void => {
    state.most = Math.max(state.most, process.memoryUsage.rss());
  };
  return {
    begin: (): void => {
      globalThis.gc?.();
      state.before = process.memoryUsage.rss();
      state.most = state.before;
      state.timer = setInterval(sample, SAMPLE_EVERY_MS);
    },
    end: (): number => {
      clearInterval(state.timer);
      sample();
      return (state.most - state.before) / MB;
    },
  };
};

export const ProxyQuestion = z.enum(['begin', 'end']);

/** Either of the two, with nothing else in its process: its socket's path is told to the parent. */
const serveProxy = async (socketPath: string): Promise<void> => {
  const memory = createMemoryWatch();
  onQuestion((question) => {
    if (ProxyQuestion.parse(question) === 'end') {
      tellParent({ growthMb: memory.end() });
      return;
    }
    memory.begin();
    tellParent({});
  });
  tellParent({ socketPath });
};

const serveOurs = async (port: number, directory: string): Promise<void> => {
  const session = await startGateway(port, join(directory, 'gateway'));
  // Kept: a session that nobody holds is collected, and its directory's descriptor with it.
  process.once('exit', () => session.use());
  await serveProxy(join(directory, 'gateway', SOCKET_NAME));
};

const serveBare = async (port: number, directory: string): Promise<void> => {
  const socketPath = join(directory, 'bare.sock');
  await startPassThrough(port, socketPath);
  await serveProxy(socketPath);
};

/** Runs until the parent ends it. */
export const serveRole = (
  role: (typeof GATEWAY_ROLES)[number],
  [port = '', directory = '']: readonly string[],
): Promise<void> => {
  if (role === 'gateway-upstream') return serveUpstream();
  return role === 'gateway-ours' ? serveOurs(Number(port), directory) : serveBare(Number(port), directory);
};
