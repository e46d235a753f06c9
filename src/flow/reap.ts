/**
 * What an earlier life of this home left behind is removed at start: containers by their label (the truth), directories
 * of turns, records that never ended. Another home's are never looked at. Messages of cut-off turns are queued again.
 */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { isErrno, toAppError } from '../errors.ts';
import { discardTree } from '../files/tree.ts';
import type { Home } from '../home.ts';
import type { EngineReport, Runtime } from '../runtimes/runtime.ts';
import type { Stores } from '../store/stores.ts';

export interface ReapOptions {
  readonly home: Home;
  readonly stores: Stores;
  readonly runtime: Runtime;
  readonly logger: Logger;
}

/** Host-only directories whose entries each belong to one turn (or, for `ipc`, hold such entries). */
const turnDirectoriesOf = ({ turns, sockets, ipc }: Home): readonly string[] => [turns, sockets, ipc];

const entries = async (directory: string): Promise<string[]> => {
  try {
    return await readdir(directory);
  } catch (thrown) {
    if (isErrno(thrown, 'ENOENT')) return [];
    throw thrown;
  }
};

const reapContainers = async ({ runtime, logger }: ReapOptions): Promise<void> => {
  const found = await runtime.list();
  for (const { id, invocation } of found) {
    await runtime.remove(id);
    logger.warn({ container: id, invocation }, 'removed a container that an earlier supervisor left behind');
  }
};

/** Only once no container of an earlier life can still use them. */
const reapDirectories = async ({ home }: ReapOptions): Promise<void> => {
  for (const directory of turnDirectoriesOf(home)) {
    for (const name of await entries(directory)) await discardTree(join(directory, name), home.trash);
  }
};

export const reapRecords = ({ stores, logger }: Pick<ReapOptions, 'stores' | 'logger'>): void => {
  for (const record of stores.invocations.unfinished()) {
    const detail = 'the supervisor ended during this turn; its messages are answered again';
    stores.invocations.end(record.id, { reason: 'failed', detail, timings: record.timings });
  }
  const requeued = stores.inbound.requeueAllRunning();
  stores.recoverMessages();
  if (requeued > 0) logger.warn({ messages: requeued }, 'messages of turns that were cut off are queued again');
};

export interface EngineWatch {
  /** Asks the engine who it is and removes what was left behind. Never rejects: a turn says it when it needs one. */
  settle(): Promise<void>;
  /** null: not reached yet. */
  report(): EngineReport | null;
}

/** The engine may be down when a supervisor starts: it is asked again before each turn until it has answered once. */
export const createEngineWatch = (options: ReapOptions): EngineWatch => {
  const seen: { report: EngineReport | null; underWay: Promise<void> | null } = { report: null, underWay: null };

  const settle = async (): Promise<void> => {
    try {
      const report = await options.runtime.check();
      await reapContainers(options);
      await reapDirectories(options);
      seen.report = report;
    } catch (thrown) {
      const { message, hint } = toAppError(thrown);
      options.logger.error({ hint }, `${message}; turns fail until it answers`);
    }
  };

  return {
    report: () => seen.report,
    settle: () => {
      // Shared: a second look would take the first caller's new container for one that was left behind.
      seen.underWay ??= settle().finally(() => {
        seen.underWay = null;
      });
      return seen.underWay;
    },
  };
};
