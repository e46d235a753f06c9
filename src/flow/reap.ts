/**
 * What belongs to no turn of this supervisor is removed, at start and from time to time: containers by their label
 * (the truth), directories of turns, records that never ended. Another home's are never looked at. Messages of turns
 * that were cut off are queued again.
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
  /** Invocations of this supervisor whose turns are not over, cleanup included. */
  readonly live: () => ReadonlySet<string>;
  readonly logger: Logger;
}

const entries = async (directory: string): Promise<string[]> => {
  try {
    return await readdir(directory);
  } catch (thrown) {
    if (isErrno(thrown, 'ENOENT')) return [];
    throw thrown;
  }
};

/** The engine is asked first and the live turns after: a container of a turn begun meanwhile is not in the list. */
const reapContainers = async ({ runtime, live, logger }: ReapOptions): Promise<void> => {
  const found = await runtime.list();
  const own = live();
  for (const { id, invocation } of found.filter((container) => !own.has(container.invocation))) {
    await runtime.remove(id);
    logger.warn({ container: id, invocation }, 'removed a container that belongs to no turn of this supervisor');
  }
};

/** Only once no container of an earlier life can still use them. */
const reapDirectories = async ({ home, live }: ReapOptions): Promise<void> => {
  const groups = await entries(home.ipc);
  const parents = [home.turns, home.sockets, ...groups.map((folder) => join(home.ipc, folder))];
  const found = await Promise.all(
    parents.map(async (parent) => (await entries(parent)).map((name) => ({ name, path: join(parent, name) }))),
  );
  const own = live();
  for (const { name, path } of found.flat()) if (!own.has(name)) await discardTree(path, home.trash);
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
  /** null: it did not answer when it was last asked. */
  report(): EngineReport | null;
}

/** The engine may be down when a supervisor starts: it is asked again before each turn until it has answered once. */
export const createEngineWatch = (options: ReapOptions): EngineWatch => {
  const seen: { report: EngineReport | null; underWay: Promise<void> | null; trouble: string } = {
    report: null,
    underWay: null,
    trouble: '',
  };

  /** Said once, however often it is asked in vain. */
  const complain = (thrown: unknown): void => {
    const { message, hint } = toAppError(thrown);
    if (seen.trouble !== message) options.logger.error({ hint }, `${message}; turns fail until it answers`);
    seen.trouble = message;
    seen.report = null;
  };

  const settle = async (): Promise<void> => {
    try {
      const report = await options.runtime.check();
      await reapContainers(options);
      await reapDirectories(options);
      if (seen.trouble !== '') options.logger.info('the engine answers again');
      seen.trouble = '';
      seen.report = report;
    } catch (thrown) {
      complain(thrown);
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
