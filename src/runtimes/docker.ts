/**
 * The Docker runtime: one container per invocation, made from a finished spec. Nothing half-made remains after a start
 * that failed, and only containers that carry this home's label are ever listed or removed.
 */
import type { Logger } from 'pino';
import { z } from 'zod';
import { type ContainerSpec, LABELS } from '../domain/plan.ts';
import { AppError, toAppError } from '../errors.ts';
import { attachContainer, createContainer, inspectContainer, startContainer, waitContainer } from './docker-calls.ts';
import { runningContainer } from './docker-container.ts';
import { type CreateBody, createOptions, discardedLimits } from './docker-create.ts';
import { deleteContainer } from './docker-remove.ts';
import { type Engine, engineError, engineSays, engineStatus, openEngine } from './engine.ts';
import type { EngineReport, FoundContainer, OutputSink, RunningContainer, Runtime } from './runtime.ts';

export interface DockerRuntimeOptions {
  /** From `engineSocket`. */
  readonly socketPath: string;
  /** The value of this home's label. */
  readonly homeId: string;
  readonly logger: Logger;
  readonly amend?: Amend | undefined;
}

/** The last word on what the engine is told. For tests alone, which weaken a container to see the red team find it. */
export type Amend = (body: CreateBody) => CreateBody;

const INSPECT_DEADLINE_MS = 20_000;

const Version = z.object({
  Version: z.string(),
  ApiVersion: z.string(),
  Platform: z.object({ Name: z.string() }).nullish(),
  Components: z.array(z.object({ Name: z.string(), Version: z.string() })).nullish(),
});

const Info = z.object({
  NCPU: z.number(),
  MemTotal: z.number(),
  MemoryLimit: z.boolean().optional(),
  SwapLimit: z.boolean().optional(),
  PidsLimit: z.boolean().optional(),
  CpuCfsQuota: z.boolean().optional(),
  OperatingSystem: z.string().nullish(),
  KernelVersion: z.string().nullish(),
  CgroupVersion: z.string().nullish(),
  Driver: z.string().nullish(),
  DockerRootDir: z.string().nullish(),
  SecurityOptions: z.array(z.string()).nullish(),
});

const Listed = z.array(
  z.object({ Id: z.string(), State: z.string(), Labels: z.record(z.string(), z.string()).nullable() }),
);

/** The engine's switches and the limits that hang on them; one that it doesn't mention counts as missing. */
const discardsOf = (info: z.infer<typeof Info>): readonly string[] =>
  Object.entries({
    memoryBytes: info.MemoryLimit,
    swap: info.SwapLimit,
    pids: info.PidsLimit,
    cpus: info.CpuCfsQuota,
  })
    .filter(([, kept]) => kept !== true)
    .map(([field]) => field);

const machineOf = (info: z.infer<typeof Info>, version: z.infer<typeof Version>): EngineReport['machine'] => ({
  operatingSystem: info.OperatingSystem ?? null,
  kernel: info.KernelVersion ?? null,
  cgroupVersion: info.CgroupVersion ?? null,
  storageDriver: info.Driver ?? null,
  securityOptions: info.SecurityOptions ?? [],
  runc: version.Components?.find(({ Name }) => Name === 'runc')?.Version ?? null,
  rootDirectory: info.DockerRootDir ?? null,
});

/** The engine's refusal of a create, as the error that names what to do. */
const createError = (engine: Engine, spec: ContainerSpec, thrown: unknown): AppError => {
  const says = engineSays(thrown);
  const status = engineStatus(thrown);
  if (status === 404 && /no such image/i.test(says)) {
    return new AppError({
      code: 'image',
      message: `the engine has no image "${spec.image}"`,
      hint: 'tierclaw image build',
      cause: thrown,
    });
  }
  const missing = /bind source path does not exist: (.*)/.exec(says);
  if (missing !== null) {
    return new AppError({
      code: 'internal',
      message: `a mount’s source does not exist on the engine’s machine: ${missing[1] ?? says}`,
      hint: 'the engine must run on this machine and see the home; see: tierclaw doctor',
      cause: thrown,
    });
  }
  return engineError(engine, `create container ${spec.name}`, thrown);
};

const discardError = (engine: Engine, lost: readonly string[], warnings: readonly string[]): AppError =>
  new AppError({
    code: 'engine',
    message: `the engine at ${engine.socketPath} would discard limits of this container (${lost.join(', ')}): ${warnings.join('; ')}`,
    hint: 'enable the cgroup controllers that it names; see: tierclaw doctor',
  });

class DockerRuntime implements Runtime {
  readonly #engine: Engine;
  readonly #homeId: string;
  readonly #logger: Logger;
  readonly #amend: Amend;
  /** One per container that this process has attached to. */
  readonly #lifetimes = new Set<AbortController>();

  constructor(options: DockerRuntimeOptions) {
    this.#engine = openEngine(options.socketPath);
    this.#homeId = options.homeId;
    this.#logger = options.logger;
    this.#amend = options.amend ?? ((body) => body);
  }

  check(): Promise<EngineReport> {
    return this.#asking('ask for its version', async () => {
      const [version, info] = await Promise.all([this.#engine.quick.version(), this.#engine.quick.info()]);
      const about = Version.parse(version);
      const machine = Info.parse(info);
      return {
        name: about.Platform?.Name || 'Docker Engine',
        version: about.Version,
        apiVersion: about.ApiVersion,
        discards: discardsOf(machine),
        cpus: machine.NCPU,
        memoryBytes: machine.MemTotal,
        machine: machineOf(machine, about),
      };
    });
  }

  async start(spec: ContainerSpec, sink: OutputSink): Promise<RunningContainer> {
    const id = await this.#create(spec);
    const lifetime = this.#lifetime();
    try {
      return await this.#launch(id, sink, lifetime);
    } catch (thrown) {
      lifetime.abort();
      await this.#unwind(id, thrown);
      throw engineError(this.#engine, `start container ${spec.name}`, thrown);
    }
  }

  list(): Promise<readonly FoundContainer[]> {
    return this.#asking('list containers', async () => {
      const filters = { label: [`${LABELS.home}=${this.#homeId}`] };
      const listed = Listed.parse(await this.#engine.quick.listContainers({ all: true, filters }));
      return listed.map((found) => ({
        id: found.Id,
        invocation: found.Labels?.[LABELS.invocation] ?? '',
        running: found.State === 'running' || found.State === 'paused' || found.State === 'restarting',
      }));
    });
  }

  async remove(id: string): Promise<void> {
    const found = await this.#asking('inspect a container', () =>
      inspectContainer(this.#engine, id, INSPECT_DEADLINE_MS),
    );
    if (found === null) return;
    if (found.labels[LABELS.home] !== this.#homeId) {
      throw new AppError({ code: 'internal', message: `container ${id} does not belong to this home` });
    }
    await deleteContainer(this.#engine, id);
  }

  close(): void {
    for (const lifetime of this.#lifetimes) lifetime.abort();
    this.#engine.close();
  }

  #lifetime(): AbortController {
    const lifetime = new AbortController();
    this.#lifetimes.add(lifetime);
    lifetime.signal.addEventListener('abort', () => this.#lifetimes.delete(lifetime), { once: true });
    return lifetime;
  }

  /** Creates it; one whose limits the engine would not keep is removed again. */
  async #create(spec: ContainerSpec): Promise<string> {
    const body = this.#amend(createOptions(spec));
    const created = await createContainer(this.#engine, spec.name, body).catch((thrown: unknown) => {
      throw createError(this.#engine, spec, thrown);
    });
    const lost = discardedLimits(created.warnings, spec.limits);
    if (lost.length > 0) {
      const error = discardError(this.#engine, lost, created.warnings);
      await this.#unwind(created.id, error);
      throw error;
    }
    if (created.warnings.length > 0) this.#logger.warn({ warnings: created.warnings }, 'the engine warned at create');
    return created.id;
  }

  /**
   * Attach and wait come before start: what is asked later misses the first output, or an exit. Reading begins after
   * it, so that no output reaches the sink before the caller holds the container that it may want to end.
   */
  async #launch(id: string, sink: OutputSink, lifetime: AbortController): Promise<RunningContainer> {
    const [engine, logger] = [this.#engine, this.#logger];
    const stream = await attachContainer(engine, id);
    lifetime.signal.addEventListener('abort', () => stream.destroy(), { once: true });
    const { ended } = await waitContainer(engine, id, { condition: 'next-exit', signal: lifetime.signal });
    await startContainer(engine, id);
    return runningContainer({ engine, id, stream, sink, logger, lifetime }, ended);
  }

  /** Removes what a failed start has left; a failure to do so is told together with the first one. */
  async #unwind(id: string, first: unknown): Promise<void> {
    try {
      await deleteContainer(this.#engine, id);
    } catch (thrown) {
      const { code, message, hint } = toAppError(thrown);
      throw new AppError({
        code,
        message: `${message}; before that: ${toAppError(first).message}`,
        hint,
        cause: first,
      });
    }
  }

  async #asking<T>(doing: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (thrown) {
      throw engineError(this.#engine, doing, thrown);
    }
  }
}

/** The runtime over the engine at `socketPath`; nothing is connected until it is used. `close` cuts what is open. */
export const createDockerRuntime = (options: DockerRuntimeOptions): Runtime & { close(): void } =>
  new DockerRuntime(options);
