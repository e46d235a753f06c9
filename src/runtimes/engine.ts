/**
 * Where the container engine is and how it is spoken to. Only a unix socket of this machine will do: bind mounts and
 * the gateway's sockets don't exist for an engine elsewhere. Two clients: one that gives up, one that waits.
 */
import { Agent } from 'node:http';
import { inspect } from 'node:util';
import Docker from 'dockerode';
import { z } from 'zod';
import { AppError, isErrno } from '../errors.ts';

const DEFAULT_SOCKET = '/var/run/docker.sock';

/** An engine that is alive answers a plain request well within this; a create of a large image is the slowest. */
const QUICK_TIMEOUT_MS = 20_000;

export interface Engine {
  readonly socketPath: string;
  /** For everything that must answer soon: gives up after 20 s of silence. */
  readonly quick: Docker;
  /** For wait, attach, stop and build, which are silent for long; callers bring their own deadlines. */
  readonly patient: Docker;
  /** Ends what is still under way. Idempotent. */
  close(): void;
}

export interface EngineAddress {
  /** An explicit path from the configuration; wins. */
  readonly socketPath?: string | undefined;
  /** The value of DOCKER_HOST, where it is set. */
  readonly dockerHost?: string | undefined;
}

/**
 * The engine's socket: the configured path, else DOCKER_HOST, else /var/run/docker.sock.
 * Throws AppError `engine` for a DOCKER_HOST that isn't `unix:///…`.
 */
export const engineSocket = (address: EngineAddress): string => {
  if (address.socketPath !== undefined && address.socketPath !== '') return address.socketPath;
  const host = address.dockerHost ?? '';
  if (host === '') return DEFAULT_SOCKET;
  if (host.startsWith('unix:///')) return host.slice('unix://'.length);
  throw new AppError({
    code: 'engine',
    message: `DOCKER_HOST is "${host}": only a unix socket of this machine can be used (unix:///path), because mounts and sockets of a turn exist here`,
    hint: 'unset DOCKER_HOST, or run the supervisor on the machine of that engine',
  });
};

/**
 * docker-modem reads DOCKER_HOST and friends by itself and lets them win over `socketPath`; every one of those fields
 * is therefore set here, to nothing.
 */
const client = (socketPath: string, agent: Agent, timeoutMs: number | undefined): Docker => {
  // The library's types don't know `agent`; docker-modem does, and an object that isn't a literal may carry it.
  const options = {
    socketPath,
    agent,
    timeout: timeoutMs,
    protocol: 'http' as const,
    host: undefined,
    port: undefined,
    ca: undefined,
    cert: undefined,
    key: undefined,
  };
  return new Docker(options);
};

const addressError = (cause: unknown): AppError =>
  new AppError({
    code: 'engine',
    message: `the environment’s DOCKER_* variables can’t be read: ${cause instanceof Error ? cause.message : String(cause)}`,
    hint: 'unset DOCKER_HOST and DOCKER_CERT_PATH; TierClaw uses a unix socket',
    cause,
  });

/**
 * docker-modem formats its options at every request, hidden fields and all, for a line that nobody reads: the walk
 * through an agent's open connections would hold the event loop for 100 ms and more.
 */
const withoutInsides = (agent: Agent): Agent => Object.defineProperty(agent, inspect.custom, { value: () => 'Agent' });

/** Makes the two clients; nothing is connected until the first request. */
export const openEngine = (socketPath: string, quickTimeoutMs: number = QUICK_TIMEOUT_MS): Engine => {
  // No keep-alive: a connection that an engine's restart has cut must never be reused for a create or a kill.
  const agent = withoutInsides(new Agent({ keepAlive: false }));
  try {
    return {
      socketPath,
      quick: client(socketPath, agent, quickTimeoutMs),
      patient: client(socketPath, agent, undefined),
      close: () => agent.destroy(),
    };
  } catch (thrown) {
    throw addressError(thrown);
  }
};

/** HTTP status of an engine's refusal; undefined where the engine did not answer at all. */
export const engineStatus = (thrown: unknown): number | undefined =>
  thrown instanceof Error && 'statusCode' in thrown && typeof thrown.statusCode === 'number'
    ? thrown.statusCode
    : undefined;

/** The engine's own sentence, without docker-modem's prefix. */
export const engineSays = (thrown: unknown): string => {
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return message.replace(/^\(HTTP code \d+\) .*? - /s, '').trim();
};

/** Codes of a connection that failed or broke; `ABORT_ERR` is a deadline of ours that passed. */
const UNREACHABLE = ['ENOENT', 'ECONNREFUSED', 'EACCES', 'ECONNRESET', 'EPIPE', 'ENOTSOCK', 'ETIMEDOUT', 'ABORT_ERR'];

/** `engine`, naming the socket and what was found there; an AppError passes unchanged. */
export const engineError = (engine: Engine, doing: string, thrown: unknown): AppError => {
  if (thrown instanceof AppError) return thrown;
  const code = UNREACHABLE.find((candidate) => isErrno(thrown, candidate));
  if (code !== undefined) {
    const found = code === 'ABORT_ERR' ? 'no answer in time' : code;
    return new AppError({
      code: 'engine',
      message: `the container engine can’t be reached at ${engine.socketPath} (${found}), to ${doing}`,
      hint: './scripts/engine.sh',
      cause: thrown,
    });
  }
  const says =
    thrown instanceof z.ZodError ? `its answer isn’t understood: ${z.prettifyError(thrown)}` : engineSays(thrown);
  return new AppError({
    code: 'engine',
    message: `the engine at ${engine.socketPath} could not ${doing}: ${says}`,
    hint: 'tierclaw doctor',
    cause: thrown,
  });
};
