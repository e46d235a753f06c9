/**
 * The supervisor's side of the control socket: HTTP for the command line. Whoever can open the socket is the operator
 * (mode 0600 in a 0700 directory), so nothing here asks who it is; everything that comes in is bounded and parsed.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import { z } from 'zod';
import { InvocationId } from '../domain/ids.ts';
import { AppError, type ErrorCode, EXIT_STATUS, toAppError } from '../errors.ts';
import { streamChat } from './control-chat.ts';
import { ChatRequest, type ControlError, type ControlledSupervisor, RecordRequest } from './control-protocol.ts';
import { bindControlSocket } from './control-socket.ts';

/** Holds the longest message that `ChatRequest` allows, each of its characters escaped as `\uXXXX`. */
export const CONTROL_BODY_BYTES_MAX = 6_100_000;
/** How long `close` lets answers under way come to their end. */
const CLOSE_GRACE_MS = 1_000;

const HTTP_STATUS: Readonly<Partial<Record<ErrorCode, number>>> = {
  usage: 400,
  refused: 403,
  'not-found': 404,
  timeout: 504,
  conflict: 409,
  internal: 500,
};
const UNAVAILABLE = 503;

export interface ControlOptions {
  readonly socketPath: string;
  readonly supervisor: ControlledSupervisor;
  readonly logger: Logger;
}

export interface Control {
  /** Ends every stream, then the server; the socket's name is gone after it. Idempotent. */
  close(): Promise<void>;
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly supervisor: ControlledSupervisor;
  /** Aborted when the client goes away or the server closes. */
  readonly signal: AbortSignal;
}

const answer = (response: ServerResponse, status: number, body: unknown): void => {
  response.writeHead(status, { 'content-type': 'application/json' }).end(`${JSON.stringify(body)}\n`);
};

const controlError = ({ code, message, hint }: AppError): ControlError => ({
  code,
  message,
  ...(hint === undefined ? {} : { hint }),
});

const readBody = async (request: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = [];
  let bytes = 0;
  // Not destroyed when it is too long: the refusal still has to go out on the same connection.
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > CONTROL_BODY_BYTES_MAX) {
      throw new AppError({ code: 'usage', message: `the request is longer than ${CONTROL_BODY_BYTES_MAX} bytes` });
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
};

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new AppError({ code: 'usage', message: 'the request is not JSON', cause });
  }
};

const parseBody = async <T>(request: IncomingMessage, schema: z.ZodType<T>): Promise<T> => {
  const parsed = schema.safeParse(parseJson(await readBody(request)));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const where = issue?.path.map(String).join('.') || 'the request';
  throw new AppError({ code: 'usage', message: `${where}: ${issue?.message ?? 'not understood'}` });
};

const CancelRequest = z.strictObject({ invocation: InvocationId });

const cancel = async ({ request, response, supervisor }: Exchange): Promise<void> => {
  const { invocation } = await parseBody(request, CancelRequest);
  if (!supervisor.cancel(invocation)) {
    throw new AppError({
      code: 'not-found',
      message: `no running turn has the id ${invocation}`,
      hint: 'tierclaw status',
    });
  }
  answer(response, 200, { cancelled: invocation });
};

/** The client hears that it was understood before the supervisor, and with it this server, goes away. */
const shutdown = ({ response, supervisor }: Exchange): void => {
  response.once('close', () => supervisor.shutdown());
  answer(response, 202, { stopping: true });
};

const chat = async ({ request, response, supervisor, signal }: Exchange): Promise<void> => {
  const asked = await parseBody(request, ChatRequest);
  await streamChat(response, supervisor.chat(asked, signal), signal);
};

const record = async ({ request, response, supervisor }: Exchange): Promise<void> => {
  supervisor.record(await parseBody(request, RecordRequest));
  answer(response, 200, { recorded: true });
};

type Route = (exchange: Exchange) => Promise<void> | void;

const ROUTES: Readonly<Record<string, Route>> = {
  'GET /status': ({ response, supervisor }) => answer(response, 200, supervisor.status()),
  'POST /chat': chat,
  'POST /cancel': cancel,
  'POST /record': record,
  'POST /shutdown': shutdown,
};

const routeOf = (request: IncomingMessage): Route => {
  const asked = `${request.method} ${request.url}`;
  const route = Object.hasOwn(ROUTES, asked) ? ROUTES[asked] : undefined;
  if (route !== undefined) return route;
  throw new AppError({ code: 'not-found', message: `no such request; there are: ${Object.keys(ROUTES).join(', ')}` });
};

const refuse = (exchange: Exchange, thrown: unknown, logger: Logger): void => {
  const { request, response } = exchange;
  const error = toAppError(thrown);
  if (EXIT_STATUS[error.code] === EXIT_STATUS.internal) logger.error({ err: thrown }, 'control request failed');
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  // What is left of a body that nobody reads would hold the connection open.
  if (!request.complete) response.setHeader('connection', 'close');
  answer(response, HTTP_STATUS[error.code] ?? UNAVAILABLE, controlError(error));
};

const closeServer = async (server: Server, active: ReadonlySet<Promise<void>>): Promise<void> => {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  const timer = setTimeout(() => server.closeAllConnections(), CLOSE_GRACE_MS);
  await Promise.all(active);
  server.closeIdleConnections();
  await closed;
  clearTimeout(timer);
};

/** Throws AppError `conflict` when another supervisor answers at that path. */
export const startControl = async ({ socketPath, supervisor, logger }: ControlOptions): Promise<Control> => {
  const lifetime = new AbortController();
  const active = new Set<Promise<void>>();

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    const exchange = { request, response, supervisor, signal: AbortSignal.any([gone.signal, lifetime.signal]) };
    try {
      await routeOf(request)(exchange);
    } catch (thrown) {
      refuse(exchange, thrown, logger);
    }
  };

  const server = createServer((request, response) => {
    const work = handle(request, response).finally(() => active.delete(work));
    active.add(work);
  });
  const socket = await bindControlSocket(server, socketPath);

  const close = async (): Promise<void> => {
    lifetime.abort();
    await closeServer(server, active);
    await socket.release();
  };
  const once: { closing: Promise<void> | null } = { closing: null };
  return {
    close: () => {
      once.closing ??= close();
      return once.closing;
    },
  };
};
