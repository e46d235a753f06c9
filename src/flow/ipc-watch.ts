/**
 * A hint that something happened in a directory. It disarms itself at the first event and is armed again a moment
 * later: events come as fast as a container can make them, and each one read costs the event loop.
 */
import { type FSWatcher, watch } from 'node:fs';

/** At most so many hints: one per this time, per directory. */
const REARM_MS = 25;

export interface Hint {
  /** Idempotent. */
  close(): void;
}

/** Calls `wake` after changes in the directory at `path`; misses none for longer than REARM_MS. Never throws. */
export const watchForHints = (path: string, wake: () => void): Hint => {
  let watcher: FSWatcher | undefined;
  let timer: NodeJS.Timeout | undefined;
  let closed = false;

  const disarm = (): void => {
    watcher?.close();
    watcher = undefined;
    clearTimeout(timer);
  };

  const fire = (): void => {
    if (closed) return;
    disarm();
    timer = setTimeout(rearm, REARM_MS);
    wake();
  };

  const arm = (): void => {
    try {
      watcher = watch(path, { persistent: false });
      watcher.once('change', fire).once('error', fire);
    } catch {
      // The kernel may have no inotify instance or watch left: the sweep is the guarantee, this is a hint.
      watcher = undefined;
    }
  };

  const rearm = (): void => {
    arm();
    // What happened while nothing was armed.
    wake();
  };

  arm();
  return {
    close: () => {
      closed = true;
      disarm();
    },
  };
};
