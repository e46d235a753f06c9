/** The supervisor as a process: build, start, wait for the signal to end, close in order, exit code. */
import { openApp } from './app.ts';
import { readEnvironment } from './config.ts';

/** Resolves with the exit status when the supervisor has ended. Throws AppError when it could not start. */
export const runDaemon = async ({ homeDir }: { readonly homeDir: string }): Promise<number> => {
  const app = await openApp({ homeDir, environment: readEnvironment() });
  const stop = (): void => app.shutdown();
  process.on('SIGTERM', stop).on('SIGINT', stop);
  try {
    await app.start();
    await app.stopped;
  } finally {
    await app.close();
    process.off('SIGTERM', stop).off('SIGINT', stop);
  }
  return 0;
};
