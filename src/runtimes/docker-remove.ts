/**
 * Ends and removes containers. A container counts as removed when the engine says that it knows none by that id, and
 * never before: neither an accepted request nor a conflict is proof.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { AppError } from '../errors.ts';
import { inspectContainer, withDeadline } from './docker-calls.ts';
import { type Engine, engineSays, engineStatus } from './engine.ts';

/** What the engine may take beyond the grace that it was given, before it is not waited for any more. */
const SLACK_MS = 10_000;
/** From the first request to remove until the engine must answer 404. */
const REMOVAL_DEADLINE_MS = 30_000;
const RETRY_MS = { first: 50, most: 1000 } as const;

/** 304: has ended already; 404: is gone already; 409: isn't running, or is being removed already. */
const DONE: readonly (number | undefined)[] = [304, 404, 409];

/** Runs one request; the refusal or failure that isn't as good as success is returned, not thrown. */
const attempt = async (work: Promise<unknown>): Promise<unknown> => {
  try {
    await work;
    return null;
  } catch (thrown) {
    return DONE.includes(engineStatus(thrown)) ? null : thrown;
  }
};

/** KILL now. Never throws: whether it worked shows when the container is removed. */
export const killContainer = async (engine: Engine, id: string): Promise<void> => {
  await attempt(withDeadline(SLACK_MS, (abortSignal) => engine.patient.getContainer(id).kill({ abortSignal })));
};

/**
 * TERM, then KILL after `graceMs` (whole seconds for the engine, rounded up; 0: KILL at once). Never throws. The attach
 * stream must have been destroyed: an engine that can't get rid of output hangs here.
 */
export const endContainer = async (engine: Engine, id: string, graceMs: number): Promise<void> => {
  if (graceMs > 0) {
    const t = Math.ceil(graceMs / 1000);
    const stop = withDeadline(t * 1000 + SLACK_MS, (abortSignal) =>
      engine.patient.getContainer(id).stop({ t, abortSignal }),
    );
    if ((await attempt(stop)) === null) return;
  }
  await killContainer(engine, id);
};

const gone = async (engine: Engine, id: string, deadlineMs: number): Promise<boolean> =>
  (await inspectContainer(engine, id, deadlineMs)) === null;

/** One request to remove, and the look whether it is gone; returns what stood in the way, or null where it is gone. */
const tryRemove = async (engine: Engine, id: string, deadlineMs: number): Promise<unknown> => {
  const refusal = await attempt(
    withDeadline(deadlineMs, (abortSignal) =>
      engine.patient.getContainer(id).remove({ force: true, v: true, abortSignal }),
    ),
  );
  try {
    if (await gone(engine, id, deadlineMs)) return null;
  } catch (thrown) {
    return thrown;
  }
  return refusal ?? new Error('the engine accepted the removal, and still has it');
};

/**
 * Removes the container, running or not, and its anonymous volumes, and verifies that it is gone.
 * Throws AppError `engine` when it still exists, or the engine can't say, after 30 s.
 */
export const deleteContainer = async (engine: Engine, id: string): Promise<void> => {
  const deadline = Date.now() + REMOVAL_DEADLINE_MS;
  let obstacle: unknown = null;
  for (let waitMs: number = RETRY_MS.first; Date.now() < deadline; waitMs = Math.min(waitMs * 2, RETRY_MS.most)) {
    obstacle = await tryRemove(engine, id, Math.max(1, deadline - Date.now()));
    if (obstacle === null) return;
    await delay(waitMs);
  }
  throw new AppError({
    code: 'engine',
    message: `container ${id.slice(0, 12)} could not be removed within ${REMOVAL_DEADLINE_MS / 1000} s: ${engineSays(obstacle)}`,
    hint: `docker rm --force ${id.slice(0, 12)}`,
    cause: obstacle,
  });
};
