/**
 * Waiting for a database that another process has locked, without holding the event loop: a try blocks for a moment
 * only, and between two of them everything else goes on. Who asked first is served first, so that the order of messages
 * stays, and only the first in the line tries.
 */
import { setTimeout as delay } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { AppError } from '../errors.ts';

/** Waits this long for another process's lock before SQLITE_BUSY, holding its thread: for commands and workers. */
export const BUSY_TIMEOUT_MS = 5000;
/** For the supervisor's own thread, which serves every chat: long enough for what a command writes. */
export const LOOP_BUSY_TIMEOUT_MS = 25;
/** A backup or a query of somebody else's takes seconds; what holds a lock for longer has to be seen to. */
const PATIENCE_MS = 20_000;
const PAUSE_MS = 50;

/** Tries `work` until no other process is in its way. It must be one transaction. Throws AppError `conflict`. */
export type WhenFree = <T>(work: () => T) => Promise<T>;

export const isBusy = (thrown: unknown): boolean =>
  thrown instanceof Database.SqliteError && thrown.code.startsWith('SQLITE_BUSY');

const tooLong = (patienceMs: number): AppError =>
  new AppError({
    code: 'conflict',
    message: `another process has kept a database of this home locked for ${patienceMs / 1000} s`,
    hint: 'find it with: fuser -v data/*.db data/store/*.db; then try again',
  });

export const createPatience = (patienceMs = PATIENCE_MS): WhenFree => {
  const line: { length: number; last: Promise<void> } = { length: 0, last: Promise.resolve() };

  const persist = async <T>(work: () => T, untilMs: number): Promise<T> => {
    // Whose time ran out in the line isn't tried: all of them at once would hold the loop.
    while (performance.now() < untilMs) {
      try {
        return work();
      } catch (thrown) {
        if (!isBusy(thrown)) throw thrown;
      }
      await delay(PAUSE_MS);
    }
    throw tooLong(patienceMs);
  };

  const queueUp = <T>(work: () => T, untilMs: number): Promise<T> => {
    line.length += 1;
    const served = line.last
      .then(() => persist(work, untilMs))
      .finally(() => {
        line.length -= 1;
      });
    const settled = (): void => {};
    line.last = served.then(settled, settled);
    return served;
  };

  return async (work) => {
    const untilMs = performance.now() + patienceMs;
    if (line.length > 0) return queueUp(work, untilMs);
    try {
      return work();
    } catch (thrown) {
      if (!isBusy(thrown)) throw thrown;
      // That try has held the loop; the next comes after a pause like any other.
      line.last = delay(PAUSE_MS);
      return queueUp(work, untilMs);
    }
  };
};
