/** Real sockets for the gateway's tests: a recording upstream, a home's directories, clients over the unix socket. */
import { mkdtempSync, rmSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, createConnection, createServer as createTcpServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { Agent } from 'undici';
import { onTestFinished } from 'vitest';
import { parseConfig } from '../../src/config.ts';
import { GroupId } from '../../src/domain/ids.ts';
import { tierRow } from '../../src/domain/tiers.ts';
import type { GatewayGrant, GatewaySession } from '../../src/gateway/gateway.ts';
import { resolveProviders } from '../../src/gateway/providers.ts';
import { type ClosableGateway, createGateway, type GatewayOptions } from '../../src/gateway/server.ts';
import { homeAt } from '../../src/home.ts';
import { createSecrets } from '../../src/secrets.ts';
import { openStores } from '../../src/store/stores.ts';

export const KEY = 'sk-ant-real-key-0123456789';

export interface Recorded {
  readonly method: string;
  readonly url: string;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly body: string;
}

export type Answerer = (request: Recorded, response: ServerResponse) => void | Promise<void>;

const readAll = async (request: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
};

/** An HTTP server on loopback that keeps what arrives. */
export const startUpstream = async (answer: Answerer) => {
  const received: Recorded[] = [];
  const server = createServer(async (incoming, response) => {
    const { method = '', url = '', headers } = incoming;
    const recorded = { method, url, headers, body: await readAll(incoming) };
    received.push(recorded);
    response.on('error', () => undefined);
    await answer(recorded, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  return { received, port, url: `http://127.0.0.1:${port}` };
};

/** A TCP server that treats every connection as it likes: no HTTP at all. */
export const startTcp = async (serve: (socket: Socket) => void): Promise<string> => {
  const open = new Set<Socket>();
  const server = createTcpServer((socket) => {
    open.add(socket);
    socket.on('error', () => undefined);
    serve(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};

export const temporaryDirectory = async (): Promise<string> => {
  const directory = await mkdtemp(join(tmpdir(), 'tierclaw-gateway-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return directory;
};

export interface Setup {
  /** Lines of a tierclaw.yaml. */
  readonly yaml?: string;
  readonly secrets?: Readonly<Record<string, string>>;
  readonly options?: Partial<GatewayOptions>;
}

/** A ledger in a database of its own. */
const freshLedger = () => {
  const directory = mkdtempSync(join(tmpdir(), 'tierclaw-ledger-'));
  const stores = openStores(homeAt(directory), Date.now);
  onTestFinished(() => {
    stores.close();
    rmSync(directory, { recursive: true, force: true });
  });
  return stores.spend;
};

/** A gateway with its log kept as text. */
export const startGateway = ({ yaml = '', secrets: values = { KEY }, options = {} }: Setup) => {
  const log: string[] = [];
  const secrets = createSecrets(new Map(Object.entries(values)), '.env');
  const providers = resolveProviders(parseConfig(yaml, 'tierclaw.yaml'), secrets);
  const logger = pino({ level: 'trace' }, { write: (line: string) => void log.push(line) });
  const gateway = createGateway({
    providers,
    secrets,
    logger,
    egress: { audit: { record: () => undefined } },
    ...options,
    ledger: options.ledger ?? freshLedger(),
  });
  onTestFinished(() => gateway.close());
  return { gateway, log };
};

/** `anthropic` in API-key mode and `local`, an openai-compatible server, both at that upstream. */
export const configFor = (url: string): string =>
  [
    'provider: claude',
    'providers:',
    `  claude: { kind: anthropic, baseUrl: "${url}", apiKey: KEY, models: [claude-a, claude-b] }`,
    `  oauth: { kind: anthropic, baseUrl: "${url}", oauthToken: KEY, models: [claude-a] }`,
    `  local: { kind: openai-compatible, baseUrl: "${url}/v1", apiKey: KEY, models: [llama] }`,
    'prices: { claude-a: { input: 3, output: 15 }, claude-b: { input: 3, output: 15 }, llama: { input: 1, output: 2 } }',
  ].join('\n');

export interface Opened {
  readonly session: GatewaySession;
  readonly socketPath: string;
}

/** Of every session that isn't given another. */
export const GROUP = GroupId.parse('local:lobby');
export const CAPS = tierRow('untrusted').model;
export const EGRESS = tierRow('untrusted').egress;

export const openSession = async (gateway: ClosableGateway, grant: Partial<GatewayGrant> = {}): Promise<Opened> => {
  const socketDirectory = grant.socketDirectory ?? join(await temporaryDirectory(), 'run');
  await mkdir(socketDirectory, { recursive: true, mode: 0o755 });
  const session = await gateway.open({
    invocation: '01J00000000000000000000000',
    group: GROUP,
    provider: 'claude',
    models: ['claude-a'],
    tier: 'untrusted',
    credentials: [],
    egress: EGRESS,
    ...grant,
    caps: { ...CAPS, requestsPerMinute: 1000, ...grant.caps },
    socketDirectory,
  });
  return { session, socketPath: join(socketDirectory, 'gateway.sock') };
};

export interface Sent {
  readonly path?: string;
  readonly headers?: Record<string, string>;
  readonly body?: unknown;
}

export const ASK = { model: 'claude-a', max_tokens: 100, messages: [{ role: 'user', content: 'hello' }] };

/** A POST through the unix socket; the answer's body is a stream. */
export const post = (
  socketPath: string,
  { path = '/model/claude/v1/messages', headers = {}, body = ASK }: Sent = {},
) => {
  const dispatcher = new Agent({ connect: { socketPath } });
  onTestFinished(() => dispatcher.destroy());
  return dispatcher.request({
    origin: 'http://gateway',
    // As it is: an URL would be normalised before it is sent.
    path,
    method: 'POST',
    headers: { 'content-type': 'application/json', 'anthropic-version': '2023-06-01', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
};

/** Everything that comes back for these bytes until the connection ends. */
export const sendRaw = (socketPath: string, bytes: string | Buffer): Promise<string> =>
  new Promise((resolve) => {
    const socket = createConnection(socketPath);
    const chunks: Buffer[] = [];
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.on('error', () => undefined);
    socket.once('close', () => resolve(Buffer.concat(chunks).toString('latin1')));
    socket.write(bytes);
    onTestFinished(() => void socket.destroy());
  });

/** What the runner does in the container: a loopback port whose connections go to the socket. */
export const startRelay = (socketPath: string): Promise<string> =>
  startTcp((socket) => {
    const inner = createConnection(socketPath);
    inner.on('error', () => socket.destroy());
    socket.once('close', () => inner.destroy());
    socket.pipe(inner).pipe(socket);
  });

export const sendEvents = (response: ServerResponse, events: readonly object[]): void => {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const event of events) response.write(`data: ${JSON.stringify(event)}\n\n`);
  response.end();
};

export const sendJson = (response: ServerResponse, status: number, body: unknown, headers = {}): void => {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
};

export const ANSWER = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude-a',
  content: [{ type: 'text', text: 'hi' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 7, cache_read_input_tokens: 3, output_tokens: 5 },
};

type Grant = Parameters<typeof openSession>[1];

/** An upstream, a gateway that knows it, and one session. */
export const start = async (answer: Answerer, grant: Grant = {}, options: Setup['options'] = {}) => {
  const upstream = await startUpstream(answer);
  const { gateway, log } = startGateway({ yaml: configFor(upstream.url), options });
  return { upstream, gateway, log, ...(await openSession(gateway, grant)) };
};

export const answerOk: Answerer = (_, response) => sendJson(response, 200, ANSWER);

/** A session of the openai-compatible provider, and a request for it. */
export const LOCAL = { provider: 'local', models: ['llama'] };
export const CHAT = { path: '/model/local/chat/completions', body: { model: 'llama', messages: [] } };
