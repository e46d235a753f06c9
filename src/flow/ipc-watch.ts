/**
 * A hint that a request file has come into a directory. It disarms itself after a few events and is armed again a
 * moment later: events come as fast as a container can make them, and each one read costs the event loop.
 */
import { type FSWatcher, watch } from 'node:fs';
import { isRequestFile } from './ipc-parse.ts';

/** One file that is written, renamed into place and taken away again makes five events; this is enough for three. */
const EVENTS_MAX = 16;
/** At most so many events are read in this time, per directory. */
const WINDOW_MS = 25;

export interface Hint {
  /** Idempotent. */
  close(): void;
}

/** undefined: the kernel has no inotify instance or watch left. The sweep is the guarantee, this is a hint. */
const tryWatch = (path: string): FSWatcher | undefined => {
  try {
    return watch(path, { persistent: false });
  } catch {
    return undefined;
  }
};

/**
 * Calls `wake` after something came into the directory at `path`, with the name of a request file where that is known:
 * misses nothing for longer than WINDOW_MS. The name is a hint, too; nothing may be there by it. Never throws.
 */
export const watchForHints = (path: string, wake: (name?: string) => void): Hint => {
  let watcher: FSWatcher | undefined;
  let timer: NodeJS.Timeout | undefined;
  let events = 0;
  let closed = false;

  const disarm = (): void => {
    watcher?.close();
    watcher = undefined;
  };

  const arm = (): void => {
    watcher = tryWatch(path);
    watcher?.on('change', (_kind, name) => heard(String(name))).once('error', broken);
  };

  const endWindow = (): void => {
    timer = undefined;
    events = 0;
    if (watcher !== undefined) return;
    arm();
    // What happened while nothing was armed.
    wake();
  };

  /** Another file's events (a half-written one's, say) count, so that they can't be made for nothing. */
  const heard = (name: string): void => {
    if (closed) return;
    if (isRequestFile(name)) wake(name);
    events += 1;
    timer ??= setTimeout(endWindow, WINDOW_MS);
    if (events < EVENTS_MAX) return;
    disarm();
    wake();
  };

  const broken = (): void => {
    disarm();
    if (!closed) timer ??= setTimeout(endWindow, WINDOW_MS);
  };

  arm();
  return {
    close: () => {
      closed = true;
      disarm();
      clearTimeout(timer);
    },
  };
};
