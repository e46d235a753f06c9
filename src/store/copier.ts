/**
 * Copies of the message store for turns, made in one long-lived thread so that the event loop never waits for them.
 * A thread that dies fails the calls it had and no others: the next call starts a new one.
 */
import { Worker } from 'node:worker_threads';
import type { GroupId } from '../domain/ids.ts';
import { AppError } from '../errors.ts';
import type { Home } from '../home.ts';
import { CopyReply, type CopyRequest, type CopyWorkerData } from './copy-protocol.ts';

export interface CopierOptions {
  /** The bundled copy-worker. */
  readonly workerFile: string | URL;
  readonly home: Home;
  /** Newest messages in a filtered copy. */
  readonly windowMessages: number;
  readonly publishEveryMs: number;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
}

export interface LinkOptions {
  /**
   * The copy must contain whatever was committed up to then (ms since 1970, by the copier's clock): renews one that is
   * too old for it even before `publishEveryMs` is over. A turn passes when its newest message was accepted.
   */
  readonly notBefore?: number;
}

export interface Copier {
  /** `target` becomes a copy with that chat's rows alone, as they are now. Throws AppError; then `target` is as it was. */
  filtered(chat: GroupId, target: string): Promise<void>;
  /**
   * `target` becomes a hard link to a copy of the whole store. It contains whatever was committed before the call, but
   * for the last `publishEveryMs`: a copy no older than that serves, unless `notBefore` asks for more.
   */
  linkPublished(target: string, options?: LinkOptions): Promise<void>;
  /** Finishes what was asked for, then ends the thread. Idempotent; later calls are refused. */
  close(): Promise<void>;
}

/** Rows pass through SQLite, not through JavaScript: the thread needs little room for new objects. */
const RESOURCES = { maxYoungGenerationSizeMb: 4 } as const;

type WithoutCall<T> = T extends { call: number } ? Omit<T, 'call'> : never;

interface Pending {
  resolve(): void;
  reject(error: AppError): void;
}

/** Needs no thread before the first call. */
export const createCopier = (options: CopierOptions): Copier => {
  const data: CopyWorkerData = {
    source: options.home.messageDatabase,
    published: options.home.published,
    windowMessages: options.windowMessages,
    publishEveryMs: options.publishEveryMs,
  };
  let thread: CopyThread | null = null;
  let closing: Promise<void> | null = null;

  const ask = async (request: WithoutCall<CopyRequest>): Promise<void> => {
    if (closing !== null) throw closed();
    if (thread === null || thread.ended) thread = new CopyThread(options.workerFile, data);
    return thread.ask(request);
  };

  return {
    filtered: (chat, target) => ask({ kind: 'filtered', chat, target }),
    linkPublished: (target, { notBefore } = {}) =>
      ask({ kind: 'link', target, now: options.clock(), notBefore: notBefore ?? null }),
    close: () => {
      closing ??= thread?.close() ?? Promise.resolve();
      return closing;
    },
  };
};

class CopyThread {
  /** True once it takes no more requests. */
  ended = false;
  readonly #worker: Worker;
  readonly #exited: Promise<void>;
  readonly #pending = new Map<number, Pending>();
  #calls = 0;

  constructor(file: string | URL, data: CopyWorkerData) {
    this.#worker = new Worker(file, { workerData: data, name: 'copies', resourceLimits: RESOURCES });
    this.#worker.on('message', (message: unknown) => this.#settle(CopyReply.parse(message)));
    this.#worker.on('error', (cause: unknown) => this.#fail(cause));
    this.#exited = new Promise((resolve) => {
      this.#worker.once('exit', (code) => {
        this.#fail(new Error(`it exited with code ${code}`));
        resolve();
      });
    });
  }

  ask(request: WithoutCall<CopyRequest>): Promise<void> {
    this.#calls += 1;
    const call = this.#calls;
    return new Promise((resolve, reject) => {
      this.#pending.set(call, { resolve, reject });
      this.#worker.postMessage({ ...request, call });
    });
  }

  /** Requests are served in order, so this one comes after all that were made. */
  close(): Promise<void> {
    if (!this.ended) this.#worker.postMessage({ kind: 'close' } satisfies CopyRequest);
    return this.#exited;
  }

  #settle(reply: CopyReply): void {
    const pending = this.#pending.get(reply.call);
    this.#pending.delete(reply.call);
    if (reply.error === null) pending?.resolve();
    else pending?.reject(new AppError(reply.error));
  }

  #fail(cause: unknown): void {
    this.ended = true;
    const why = cause instanceof Error ? cause.message : String(cause);
    const error = new AppError({
      code: 'internal',
      message: `the thread that copies the message store ended: ${why}`,
      hint: 'the next turn starts a new one',
      cause,
    });
    for (const pending of this.#pending.values()) pending.reject(error);
    this.#pending.clear();
  }
}

const closed = (): AppError => new AppError({ code: 'internal', message: 'the copier is closed' });
