/**
 * The engine's answers, each asked in one place and parsed by one schema. What dockerode drops or gets wrong (create
 * warnings, an attach that sends its options into stdin) is dialled here.
 */
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import type DockerModem from 'docker-modem';
import type Docker from 'dockerode';
import type { ContainerCreateOptions } from 'dockerode';
import { z } from 'zod';
import { type Engine, engineStatus } from './engine.ts';

/** A create or an attach that takes longer is an engine that hangs. */
const CALL_DEADLINE_MS = 30_000;

const Created = z.object({ Id: z.string().min(1), Warnings: z.array(z.string()).nullish() });

const Inspected = z.object({
  State: z.object({ Running: z.boolean(), OOMKilled: z.boolean(), ExitCode: z.number().int() }),
  Config: z.object({ Labels: z.record(z.string(), z.string()).nullable() }),
});

/** What is known of a container; null: the engine has none by that id. */
export interface ContainerState {
  readonly running: boolean;
  readonly oomKilled: boolean;
  readonly exitCode: number;
  readonly labels: Readonly<Record<string, string>>;
}

/** Runs `work` with a signal that is raised after `deadlineMs`, and never later: an open stream outlives it. */
export const withDeadline = async <T>(deadlineMs: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> => {
  const aborter = new AbortController();
  const timer = setTimeout(() => aborter.abort(), deadlineMs);
  try {
    return await work(aborter.signal);
  } finally {
    clearTimeout(timer);
  }
};

const dial = (docker: Docker, options: DockerModem.DialOptions): Promise<unknown> => {
  const modem: DockerModem = docker.modem;
  return new Promise((resolve, reject) => {
    modem.dial(options, (error, answer) => (error === null ? resolve(answer) : reject(error)));
  });
};

const REFUSALS = { 304: 'not modified', 400: 'bad parameter', 404: 'not found', 409: 'conflict', 500: 'server error' };

/** Creates a container and brings the engine's warnings along, which dockerode's createContainer drops. */
export const createContainer = (
  engine: Engine,
  name: string,
  options: ContainerCreateOptions,
): Promise<{ id: string; warnings: readonly string[] }> =>
  withDeadline(CALL_DEADLINE_MS, async (abortSignal) => {
    const answer = await dial(engine.patient, {
      path: '/containers/create?',
      method: 'POST',
      options: { _query: { name }, _body: options },
      statusCodes: { 201: true, ...REFUSALS },
      abortSignal,
    });
    const created = Created.parse(answer);
    return { id: created.Id, warnings: created.Warnings ?? [] };
  });

/**
 * The raw, two-way stream of a container: stdin in, multiplexed output out. Dialled with an empty body: dockerode's
 * attach sends its options as one, and an engine that reads them late puts them into the container's stdin.
 */
export const attachContainer = (engine: Engine, id: string): Promise<Socket> =>
  withDeadline(CALL_DEADLINE_MS, async (abortSignal) => {
    const stream = await dial(engine.patient, {
      path: `/containers/${id}/attach?`,
      method: 'POST',
      options: { _query: { stream: 1, stdin: 1, stdout: 1, stderr: 1 } },
      file: Buffer.alloc(0),
      hijack: true,
      isStream: true,
      statusCodes: { 101: true, ...REFUSALS },
      abortSignal,
    });
    if (!(stream instanceof Socket)) throw new Error('the engine answered an attach without a stream');
    // It may break before anyone reads it; that shows as the container's end and must not end this process.
    stream.on('error', () => undefined);
    return stream;
  });

/** When a wait ends: `next-exit` may be asked for before start; `not-running` answers at once for one that has ended. */
type WaitCondition = 'next-exit' | 'not-running';

/**
 * Asks the engine to tell when the container ends. Resolves once the engine has registered the question (it sends its
 * headers then); `ended` settles with the answer, or rejects when the engine is lost.
 */
export const waitContainer = async (
  engine: Engine,
  id: string,
  options: { readonly condition: WaitCondition; readonly signal: AbortSignal },
): Promise<{ readonly ended: Promise<void> }> => {
  const answer = await withDeadline(CALL_DEADLINE_MS, (deadline) =>
    dial(engine.patient, {
      path: `/containers/${id}/wait?`,
      method: 'POST',
      options: { _query: { condition: options.condition }, _body: {} },
      isStream: true,
      statusCodes: { 200: true, ...REFUSALS },
      abortSignal: AbortSignal.any([deadline, options.signal]),
    }),
  );
  if (!(answer instanceof IncomingMessage)) throw new Error('the engine answered a wait without a stream');
  const ended = text(answer).then((body) => {
    // The engine's answer holds a status too, but not whether memory ran out: the caller inspects.
    z.object({ StatusCode: z.number() }).parse(JSON.parse(body));
  });
  // Whoever asked may give up on it; a rejection that nobody waits for any more is no error.
  ended.catch(() => undefined);
  return { ended };
};

/** Starts it; one that runs already counts as started. */
export const startContainer = async (engine: Engine, id: string): Promise<void> => {
  try {
    await withDeadline(CALL_DEADLINE_MS, (abortSignal) => engine.patient.getContainer(id).start({ abortSignal }));
  } catch (thrown) {
    if (engineStatus(thrown) !== 304) throw thrown;
  }
};

/** Its state now, or null where the engine answers 404. */
export const inspectContainer = async (
  engine: Engine,
  id: string,
  deadlineMs: number,
): Promise<ContainerState | null> => {
  try {
    const answer = await withDeadline(deadlineMs, (abortSignal) =>
      engine.quick.getContainer(id).inspect({ abortSignal }),
    );
    const { State, Config } = Inspected.parse(answer);
    return {
      running: State.Running,
      oomKilled: State.OOMKilled,
      exitCode: State.ExitCode,
      labels: Config.Labels ?? {},
    };
  } catch (thrown) {
    if (engineStatus(thrown) === 404) return null;
    throw thrown;
  }
};
