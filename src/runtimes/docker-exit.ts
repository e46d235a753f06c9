/**
 * Learns how a container ended. The engine's word alone counts: a wait that breaks off is no exit, it is asked again,
 * and an engine that stays silent for 10 s is reported as lost. So is one that stopped the container by going away.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { type ContainerState, inspectContainer, waitContainer } from './docker-calls.ts';
import type { Engine } from './engine.ts';
import type { ExitReport } from './runtime.ts';

const LOST_AFTER_MS = 10_000;
const RETRY_MS = { first: 50, most: 1000 } as const;

const LOST: ExitReport = { exitCode: -1, oomKilled: false, engineLost: true };

export interface ExitWatch {
  readonly engine: Engine;
  readonly id: string;
  /** Raised when the container has been removed on purpose: nothing is asked any more. */
  readonly signal: AbortSignal;
  /** It is being ended on purpose. */
  isEnding(): boolean;
}

/** The engine's answer within `LOST_AFTER_MS`; null when it has no such container or doesn't answer. */
const askState = async (watch: ExitWatch): Promise<ContainerState | null> => {
  const deadline = Date.now() + LOST_AFTER_MS;
  for (let waitMs: number = RETRY_MS.first; Date.now() < deadline; waitMs = Math.min(waitMs * 2, RETRY_MS.most)) {
    if (watch.signal.aborted) return null;
    try {
      return await inspectContainer(watch.engine, watch.id, Math.max(1, deadline - Date.now()));
    } catch {
      // Not answered: an engine that restarts is back in a few seconds, so it is asked again until the deadline.
      await delay(waitMs);
    }
  }
  return null;
};

/** Waits once more for a container that runs on although the first wait broke off; a failure shows in the next look. */
const waitAgain = async (watch: ExitWatch): Promise<void> => {
  try {
    const wait = await waitContainer(watch.engine, watch.id, { condition: 'not-running', signal: watch.signal });
    await wait.ended;
  } catch {
    // The caller looks at the container's state in any case; the pause keeps a flapping engine from being hammered.
    await delay(RETRY_MS.most);
  }
};

/**
 * An engine that stops ends its containers by TERM, then KILL, and is back before one can ask it why. A container that
 * ends itself so can't be told apart: its turn is tried again in vain, as often as the retry rule allows.
 */
const BY_SIGNAL: readonly number[] = [137, 143];

/** `interrupted`: the engine's connection broke off meanwhile, so a bad end is the engine's doing. */
const reportOf = (watch: ExitWatch, { exitCode, oomKilled }: ContainerState, interrupted: boolean): ExitReport => {
  const isBad = !oomKilled && exitCode !== 0;
  const fromOutside = interrupted || (BY_SIGNAL.includes(exitCode) && !watch.isEnding());
  return { exitCode, oomKilled, engineLost: isBad && fromOutside };
};

/** Settles when the container has ended or the engine is lost; `ended` is the wait that was registered before start. */
export const watchExit = async (watch: ExitWatch, ended: Promise<void>): Promise<ExitReport> => {
  let interrupted = await ended.then(
    () => false,
    () => true,
  );
  for (;;) {
    const state = await askState(watch);
    if (state === null) return LOST;
    if (!state.running) return reportOf(watch, state, interrupted);
    interrupted = true;
    await waitAgain(watch);
  }
};
