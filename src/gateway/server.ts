/**
 * The gateway: one HTTP server per invocation, on a unix socket in a directory that only this invocation is given. Who
 * asks is known by the socket alone. No bytes that come through it can end the process or outlive `close`.
 */
import { constants } from 'node:fs';
import { chmod, type FileHandle, open } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Logger } from 'pino';
import { Agent, type Dispatcher } from 'undici';
import { AppError } from '../errors.ts';
import type { Secrets } from '../secrets.ts';
import { errorBody, rawAnswer } from './answer.ts';
import { type Budget, createBudget, type SpendLedger } from './budget.ts';
import { createEgress, type EgressOptions } from './egress.ts';
import type { Gateway, GatewayGrant, GatewaySession } from './gateway.ts';
import { createPipelining } from './pipelining.ts';
import type { Provider } from './providers.ts';
import { rehearsalUpstream } from './rehearsal.ts';
import { ANSWER_BYTES_MAX } from './relay.ts';
import { createPlaces, type Places } from './request-caps.ts';
import { createRouter, type EgressRoute, type Route } from './router.ts';
import { createRequestSession } from './session.ts';
import { DEFAULT_TIMEOUTS, httpUpstream, type Upstream, type UpstreamTimeouts } from './upstream.ts';

export const SOCKET_NAME = 'gateway.sock';

export interface GatewayOptions {
  readonly providers: ReadonlyMap<string, Provider>;
  readonly secrets: Secrets;
  readonly logger: Logger;
  /** Where all groups' spending is kept. */
  readonly ledger: SpendLedger;
  /** Carries the requests to providers; default: an Agent of the gateway's own. It must not follow redirects. */
  readonly dispatcher?: Dispatcher;
  readonly upstreamTimeouts?: UpstreamTimeouts;
  /** Of one of a model's; default: ANSWER_BYTES_MAX. */
  readonly answerBytesMax?: number;
  readonly clientLimits?: ClientLimits;
  /** Opens one turn's `/cred/…`; absent: there is none. */
  readonly credentials?: (grant: GatewayGrant) => Route;
  readonly egress: EgressOptions;
}

/** What one client may hold, and for how long. */
export interface ClientLimits {
  readonly connections: number;
  readonly headerBytes: number;
  /** From the connection's first moment to the end of the head. */
  readonly headersMs: number;
  /** To the end of the body: 40 MB through the slowest sandbox take a few seconds. */
  readonly requestMs: number;
  readonly keepAliveMs: number;
}

export const DEFAULT_CLIENT_LIMITS: ClientLimits = {
  // Model requests and egress at their widest (64 each).
  connections: 128,
  headerBytes: 16 * 1024,
  headersMs: 10_000,
  requestMs: 60_000,
  keepAliveMs: 60_000,
};

/** Everything still open is closed with it. */
export interface ClosableGateway extends Gateway {
  close(): Promise<void>;
}

const configError = (message: string, hint?: string): AppError => new AppError({ code: 'config', message, hint });

const grantedProvider = ({ providers }: GatewayOptions, grant: GatewayGrant): Provider => {
  const provider = providers.get(grant.provider);
  if (provider !== undefined) return provider;
  throw configError(`there is no provider "${grant.provider}"; there are: ${[...providers.keys()].join(', ')}`);
};

/** The open directory: its descriptor makes the socket's path short, and must stay open until the server has closed. */
const openDirectory = async (path: string): Promise<FileHandle> => {
  const flags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
  const handle = await open(path, flags);
  const mode = (await handle.stat()).mode & 0o777;
  if (mode === 0o755) return handle;
  await handle.close();
  throw new AppError({
    code: 'internal',
    message: `the socket directory ${path} has mode ${mode.toString(8).padStart(4, '0')}; it must be 0755`,
  });
};

const listen = (server: Server, path: string): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, () => {
      server.off('error', reject);
      resolve();
    });
  });

const PHRASES: Readonly<Record<string, readonly [number, string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'Request Header Fields Too Large'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'Request Timeout'],
};

/** Ends a connection that isn't a request (any more); on one that has carried an answer, no further word is safe. */
const endSocket = (socket: Socket, answer: string): void => {
  if (!socket.writable || socket.bytesWritten > 0) return void socket.destroy();
  socket.end(answer, () => socket.destroy());
};

interface Listening {
  readonly server: Server;
  readonly sockets: ReadonlySet<Socket>;
}

const guardConnections = (server: Server, session: EgressRoute, provider: Provider): ReadonlySet<Socket> => {
  const sockets = new Set<Socket>();
  const ended = new WeakSet<Socket>();
  const refuse = (socket: Socket, status: number, phrase: string): void => {
    // More bytes after the first bad ones are not another request: they are neither counted nor logged.
    if (ended.has(socket)) {
      socket.destroy();
      return;
    }
    ended.add(socket);
    session.noteRefusal(phrase);
    endSocket(socket, rawAnswer(status, phrase, errorBody(provider.api, status, phrase)));
  };
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    // A reset may come at any time, also when HTTP has let go of the socket; unheard, it would end the process.
    socket.on('error', () => socket.destroy());
    socket.once('close', () => sockets.delete(socket));
  });
  const pipelining = createPipelining(session.noteRefusal);
  server.on('request', (request, response) => {
    if (pipelining.isRefused(request.socket)) return;
    pipelining.note(request.socket, response);
    void session.handle(request, response);
  });
  server.on('connect', (request, socket, head) => {
    if (!pipelining.isRefused(socket)) void session.tunnel({ request, socket, head });
  });
  server.on('upgrade', (_request, socket: Socket) => refuse(socket, 403, 'this gateway upgrades no connection'));
  server.on('clientError', (error: Error & { code?: string }, socket: Socket) => {
    const [status, phrase] = PHRASES[error.code ?? ''] ?? [400, 'Bad Request'];
    refuse(socket, status, phrase);
  });
  // Never unheard: an error of the listening socket concerns this invocation alone.
  server.on('error', () => session.noteRefusal('the socket failed'));
  return sockets;
};

const createListener = (session: EgressRoute, provider: Provider, limits: ClientLimits): Listening => {
  const server = createServer({
    maxHeaderSize: limits.headerBytes,
    headersTimeout: limits.headersMs,
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.keepAliveMs,
    connectionsCheckingInterval: Math.min(1000, limits.headersMs),
  });
  server.maxConnections = limits.connections;
  // Their size is the limit. Node leaves those over a number out, and with them how long the body is.
  server.maxHeadersCount = 0;
  return { server, sockets: guardConnections(server, session, provider) };
};

const closeListener = async ({ server, sockets }: Listening, session: EgressRoute): Promise<void> => {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  const ended = session.abort();
  for (const socket of sockets) socket.destroy();
  await Promise.all([closed, ended]);
};

/** What one invocation's session shares with the others. */
interface Shared {
  readonly upstream: Upstream;
  readonly places: Places;
  readonly budget: Budget;
  readonly openEgress: (grant: GatewayGrant) => EgressRoute;
}

const openSession = async (options: GatewayOptions, grant: GatewayGrant, shared: Shared): Promise<GatewaySession> => {
  const { secrets, logger } = options;
  const provider = grantedProvider(options, grant);
  // A missing key is the operator's to hear about now, not the chat's at its first request.
  provider.authHeaders();
  const answerBytesMax = options.answerBytesMax ?? ANSWER_BYTES_MAX;
  const session = createRequestSession({ grant, provider, ...shared, secrets, logger, answerBytesMax });
  const router = createRouter({
    model: session,
    credentials: options.credentials?.(grant),
    egress: shared.openEgress(grant),
  });
  const listening = createListener(router, provider, options.clientLimits ?? DEFAULT_CLIENT_LIMITS);
  const directory = await openDirectory(grant.socketDirectory);
  const path = `/proc/self/fd/${directory.fd}/${SOCKET_NAME}`;
  const shut = async (): Promise<void> => {
    await closeListener(listening, router);
    await directory.close();
  };
  try {
    await listen(listening.server, path);
    // The container's user is neither ours nor in our group; the directory's mount decides who gets here.
    await chmod(path, 0o666);
  } catch (thrown) {
    await shut();
    throw thrown;
  }
  const closing = { done: undefined as Promise<void> | undefined };
  return {
    firstModelRequest: session.firstModelRequest,
    use: session.use,
    close: () => (closing.done ??= shut()),
  };
};

const ownAgent = (): Agent => new Agent({ connect: { timeout: 10_000 } });

/** The gateway of one supervisor. `close` ends all sessions and the connections to providers. */
export const createGateway = (options: GatewayOptions): ClosableGateway => {
  const own = options.dispatcher === undefined ? ownAgent() : undefined;
  const dispatcher = options.dispatcher ?? own;
  const timeouts = options.upstreamTimeouts ?? DEFAULT_TIMEOUTS;
  const sessions = new Set<GatewaySession>();
  const places = createPlaces();
  const budget = createBudget(options.ledger, options.logger);
  const openEgress = createEgress({ ...options.egress, logger: options.logger });
  const upstreamFor = (grant: GatewayGrant): Upstream => {
    const { upstream } = grantedProvider(options, grant);
    if (upstream.kind === 'rehearsal' || dispatcher === undefined) return rehearsalUpstream;
    return httpUpstream(upstream.origin, dispatcher, timeouts);
  };
  return {
    open: async (grant) => {
      const session = await openSession(options, grant, { upstream: upstreamFor(grant), places, budget, openEgress });
      sessions.add(session);
      const close = async (): Promise<void> => {
        await session.close();
        sessions.delete(session);
      };
      return { ...session, close };
    },
    close: async () => {
      await Promise.all([...sessions].map((session) => session.close()));
      await own?.destroy();
    },
  };
};
