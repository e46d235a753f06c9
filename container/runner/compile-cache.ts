/**
 * Node's compile cache: what makes a start cheap. It is made once, while the image is built, by the uid that will use
 * it (Node keeps one directory per uid), and read ever after from a root that may be read-only.
 */
import { spawnSync } from 'node:child_process';
import * as nodeModule from 'node:module';
import process from 'node:process';

/** Absent before Node 22; the runner then simply has no cache. */
const call = (name: 'flushCompileCache' | 'getCompileCacheDir'): unknown => {
  const found: unknown = Object.entries(nodeModule).find(([key]) => key === name)?.[1];
  return typeof found === 'function' ? found() : undefined;
};

/** Writes what has been compiled so far. */
export const flushCompileCache = (): void => void call('flushCompileCache');

export interface CacheStatus {
  /** Directory in use; null: none. */
  readonly directory: string | null;
  /** A fresh start took this file's code from the cache. */
  readonly hit: boolean;
  /** What Node said about it. */
  readonly log: readonly string[];
}

/** Starts this file once more in `mode` with Node's own cache log switched on, and reads from it whether it was used. */
export const cacheStatus = (file: string, environment: Readonly<Record<string, string | undefined>>): CacheStatus => {
  const directory = call('getCompileCacheDir');
  const child = spawnSync(process.execPath, [file, '--load'], {
    env: { ...environment, NODE_DEBUG_NATIVE: 'COMPILE_CACHE' },
    stdio: ['ignore', 'ignore', 'pipe'],
    encoding: 'utf8',
  });
  const log = child.stderr.split('\n').filter((line) => line.includes(file));
  const hit = log.some((line) => line.includes('was accepted'));
  return { directory: typeof directory === 'string' ? directory : null, hit, log };
};
