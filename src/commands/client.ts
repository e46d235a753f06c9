/** The command line's side of the control socket: one request each; every answer is parsed before it is believed. */
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { StringDecoder } from 'node:string_decoder';
import { z } from 'zod';
import { AppError, type ErrorCode, EXIT_STATUS, isErrno } from '../errors.ts';
import type { Home } from '../home.ts';
import {
  type ChatEvent,
  ChatLine,
  type ChatRequest,
  ControlError,
  type RecordRequest,
  StatusReport,
} from '../ops/control-protocol.ts';
import { withShortPath } from '../ops/control-socket.ts';

/** For everything but a chat, which lasts as long as its turn. */
const ANSWER_TIMEOUT_MS = 10_000;

export interface ControlClient {
  status(): Promise<StatusReport>;
  /**
   * Events until `done`; throws where the supervisor refuses or goes away before. Leaving the loop, like the signal,
   * ends the request and not the turn.
   */
  chat(request: ChatRequest, signal?: AbortSignal): AsyncIterable<ChatEvent>;
  /** Throws AppError `not-found` when that turn isn't running any more. */
  cancel(invocation: string): Promise<void>;
  /** Throws AppError `audit` where it can't be put on record. */
  record(request: RecordRequest): Promise<void>;
  shutdown(): Promise<void>;
}

const notRunning = (home: Home, cause?: unknown): AppError =>
  new AppError({
    code: 'not-running',
    message: `no supervisor is running for the home ${home.dir}`,
    hint: 'tierclaw up --detach',
    cause,
  });

const connectionError = (home: Home, thrown: unknown): unknown => {
  if (isErrno(thrown, 'ENOENT') || isErrno(thrown, 'ECONNREFUSED')) return notRunning(home, thrown);
  if (!isErrno(thrown, 'EACCES')) return thrown;
  const message = `the control socket ${home.controlSocket} belongs to another user`;
  return new AppError({
    code: 'refused',
    message,
    hint: 'run this as the user who runs the supervisor',
    cause: thrown,
  });
};

const wentAway = (cause?: unknown): AppError =>
  new AppError({
    code: 'not-running',
    message: 'the supervisor went away before the turn was done; the message is kept, and answered when one runs again',
    hint: 'tierclaw up --detach; why it went: tierclaw logs',
    cause,
  });

interface Call {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body?: unknown;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal | undefined;
}

const timedOut = (path: string): AppError =>
  new AppError({
    code: 'timeout',
    message: `the supervisor did not answer ${path} within ${ANSWER_TIMEOUT_MS / 1000} s`,
    hint: 'tierclaw logs',
  });

const send = (request: ClientRequest, call: Call): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    request.on('error', reject);
    request.once('response', resolve);
    request.setTimeout(call.timeoutMs ?? 0, () => request.destroy(timedOut(call.path)));
    request.end(call.body === undefined ? undefined : JSON.stringify(call.body));
  });

const open = async (home: Home, call: Call): Promise<IncomingMessage> => {
  const { method, path, signal } = call;
  const options = { method, path, agent: false, ...(signal === undefined ? {} : { signal }) } as const;
  const headers = { 'content-type': 'application/json' };
  try {
    return await withShortPath(home.controlSocket, (socketPath) =>
      send(httpRequest({ ...options, socketPath, headers }), call),
    );
  } catch (thrown) {
    throw connectionError(home, thrown);
  }
};

const textOf = async (response: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = [];
  for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
};

const isErrorCode = (code: string): code is ErrorCode => Object.hasOwn(EXIT_STATUS, code);

const errorOf = ({ code, message, hint }: ControlError): AppError =>
  new AppError({ code: isErrorCode(code) ? code : 'internal', message, hint });

const parsed = <T>(schema: z.ZodType<T>, text: string): T => {
  const result = schema.safeParse(safeJson(text));
  if (result.success) return result.data;
  throw new AppError({
    code: 'internal',
    message: `the supervisor answered something that this version does not understand: ${text.slice(0, 200)}`,
    hint: 'supervisor and command line may be of different builds: tierclaw down, then tierclaw up --detach',
  });
};

const safeJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // Fails the schema, which gives the message.
  }
};

const OK_BELOW = 300;

const ask = async <T>(home: Home, call: Call, schema: z.ZodType<T>): Promise<T> => {
  const response = await open(home, { ...call, timeoutMs: ANSWER_TIMEOUT_MS });
  const text = await textOf(response);
  if ((response.statusCode ?? 0) >= OK_BELOW) throw errorOf(parsed(ControlError, text));
  return parsed(schema, text);
};

/** Lines as they come; a last one without its newline is not one. Throws AppError when the connection breaks off. */
async function* linesOf(response: IncomingMessage): AsyncGenerator<string> {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      const lines = (rest + decoder.write(chunk)).split('\n');
      rest = lines.pop() ?? '';
      yield* lines;
    }
  } catch (thrown) {
    throw wentAway(thrown);
  }
}

async function* chatEvents(home: Home, body: ChatRequest, signal?: AbortSignal): AsyncGenerator<ChatEvent> {
  const response = await open(home, { method: 'POST', path: '/chat', body, signal });
  if ((response.statusCode ?? 0) >= OK_BELOW) throw errorOf(parsed(ControlError, await textOf(response)));
  try {
    for await (const text of linesOf(response)) {
      const line = parsed(ChatLine, text);
      if (line.kind === 'refused') throw errorOf(line);
      yield line;
      if (line.kind === 'done') return;
    }
  } finally {
    response.destroy();
  }
  throw wentAway();
}

/** A client for the supervisor of that home; nothing is opened before the first request. */
export const controlClient = (home: Home): ControlClient => ({
  status: () => ask(home, { method: 'GET', path: '/status' }, StatusReport),
  chat: (request, signal) => chatEvents(home, request, signal),
  cancel: async (invocation) => {
    await ask(home, { method: 'POST', path: '/cancel', body: { invocation } }, z.looseObject({}));
  },
  record: async (body) => {
    await ask(home, { method: 'POST', path: '/record', body }, z.looseObject({}));
  },
  shutdown: async () => {
    await ask(home, { method: 'POST', path: '/shutdown' }, z.looseObject({}));
  },
});

/** True where a supervisor answers for that home. */
export const isRunning = async (client: ControlClient): Promise<boolean> => {
  try {
    await client.status();
    return true;
  } catch (thrown) {
    if (thrown instanceof AppError && thrown.code === 'not-running') return false;
    throw thrown;
  }
};
