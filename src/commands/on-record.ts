/**
 * What the operator does to a home is on record before it is done: by the supervisor where one runs, because only one
 * process writes the trail, else by this process under the home's lock.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { openAudit } from '../audit.ts';
import { AppError } from '../errors.ts';
import type { Home } from '../home.ts';
import type { RecordRequest } from '../ops/control-protocol.ts';
import { acquireLock, type Lock } from '../store/lock.ts';
import { controlClient } from './client.ts';

/** Whoever has the lock is a supervisor that is starting or ending, or a command like this one. */
const TRIES = 50;
const BETWEEN_MS = 100;

const lockOf = (home: Home): Lock | null => {
  try {
    return acquireLock(home.lockFile);
  } catch (thrown) {
    if (thrown instanceof AppError && thrown.code === 'conflict') return null;
    throw thrown;
  }
};

const recordUnder = (lock: Lock, home: Home, event: RecordRequest): void => {
  const audit = openAudit(home.auditFile, Date.now);
  try {
    audit.record({ ...event.details, kind: event.kind, group: event.group });
  } finally {
    audit.close();
    lock.release();
  }
};

/** False: somebody has the lock, and nobody answers. */
const attempt = async (home: Home, event: RecordRequest): Promise<boolean> => {
  const lock = lockOf(home);
  if (lock !== null) {
    recordUnder(lock, home, event);
    return true;
  }
  try {
    await controlClient(home).record(event);
    return true;
  } catch (thrown) {
    if (thrown instanceof AppError && thrown.code === 'not-running') return false;
    throw thrown;
  }
};

/** Throws AppError where it can't be recorded: then it must not be done. */
export const putOnRecord = async (home: Home, event: RecordRequest): Promise<void> => {
  for (let tries = 1; tries <= TRIES; tries += 1) {
    if (await attempt(home, event)) return;
    await delay(BETWEEN_MS);
  }
  throw new AppError({
    code: 'conflict',
    message: `another process has the lock of ${home.dir} and doesn’t answer, so this can’t be put on record`,
    hint: 'tierclaw status; then try again',
  });
};
