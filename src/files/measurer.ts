/** Asks the measuring thread. It is started when it is first needed, and again after it has broken. */
import { Worker } from 'node:worker_threads';
import { AppError } from '../errors.ts';
import { MeasureReply, type MeasureRequest, type MeasureResult } from './measure-protocol.ts';

export type MeasureJob = Omit<MeasureRequest, 'call'>;

export interface Measurer {
  /** Throws AppError `internal` where it can't be measured. */
  measure(job: MeasureJob): Promise<MeasureResult>;
  /** Ends the thread; what is under way is refused. Idempotent. */
  close(): Promise<void>;
}

interface Pending {
  resolve(result: MeasureResult): void;
  reject(error: AppError): void;
}

const failed = (why: string): AppError => new AppError({ code: 'internal', message: `measuring disk use: ${why}` });

/** Names of directories and inodes of large trees; a walk that needs more ends its thread, not the process. */
const RESOURCES = { maxOldGenerationSizeMb: 512, maxYoungGenerationSizeMb: 8 } as const;

class MeasureThread {
  ended = false;
  readonly #worker: Worker;
  readonly #pending = new Map<number, Pending>();
  #calls = 0;

  constructor(file: string | URL) {
    this.#worker = new Worker(file, { name: 'measuring', resourceLimits: RESOURCES });
    this.#worker.unref();
    this.#worker.on('message', (message: unknown) => this.#settle(MeasureReply.parse(message)));
    this.#worker.on('error', (cause: unknown) => this.#fail(cause instanceof Error ? cause.message : String(cause)));
    this.#worker.once('exit', (code) => this.#fail(`its thread ended with code ${code}`));
  }

  ask(job: MeasureJob): Promise<MeasureResult> {
    this.#calls += 1;
    const call = this.#calls;
    return new Promise((resolve, reject) => {
      this.#pending.set(call, { resolve, reject });
      this.#worker.postMessage({ ...job, call } satisfies MeasureRequest);
    });
  }

  get isBusy(): boolean {
    return this.#pending.size > 0;
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }

  #settle(reply: MeasureReply): void {
    const pending = this.#pending.get(reply.call);
    this.#pending.delete(reply.call);
    if ('result' in reply) pending?.resolve(reply.result);
    else pending?.reject(failed(reply.error));
  }

  #fail(why: string): void {
    this.ended = true;
    for (const pending of this.#pending.values()) pending.reject(failed(why));
    this.#pending.clear();
  }
}

/** Asked every second or so while a turn runs; between turns the thread would hold some 20 MB for nothing. */
const IDLE_MS = 5_000;

/** `workerFile`: the bundled measure-worker. Its thread ends when nothing was asked for `idleMs`. */
export const createMeasurer = (workerFile: string | URL, idleMs = IDLE_MS): Measurer => {
  let thread: MeasureThread | null = null;
  let closed = false;
  let idle: NodeJS.Timeout | undefined;
  const endWhenIdle = (): void => {
    clearTimeout(idle);
    idle = setTimeout(() => {
      if (thread === null || thread.isBusy) return;
      void thread.close();
      thread = null;
    }, idleMs).unref();
  };
  return {
    measure: async (job) => {
      if (closed) throw failed('it is closed');
      if (thread === null || thread.ended) thread = new MeasureThread(workerFile);
      return thread.ask(job).finally(endWhenIdle);
    },
    close: async () => {
      closed = true;
      clearTimeout(idle);
      await thread?.close();
    },
  };
};
