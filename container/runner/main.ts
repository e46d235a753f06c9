/**
 * The process inside every container: wires the runner to stdin, stdout and the container's paths. Started otherwise:
 * `--warm` fills the compile cache, `--load` only loads, `--cache-status` prints as JSON whether a start uses the cache.
 */
import process from 'node:process';
import { aiSdkAgent } from './agents/ai-sdk.ts';
import { cacheStatus, flushCompileCache } from './compile-cache.ts';
import { takeStdout } from './frames-out.ts';
import { CONTAINER_PATHS } from './paths.ts';
import { Runner } from './runner.ts';

const live = (): void => {
  const runner = new Runner({
    stdin: process.stdin,
    stdout: takeStdout(process),
    paths: CONTAINER_PATHS,
    environment: process.env,
    agent: aiSdkAgent(),
    exit: (status) => process.exit(status),
    log: (line) => void process.stderr.write(`${line}\n`),
  });
  process.on('uncaughtException', (thrown) => runner.fail(thrown));
  process.on('unhandledRejection', (thrown) => runner.fail(thrown));
  runner.start();
};

const MODES: Readonly<Record<string, () => void>> = {
  '--warm': flushCompileCache,
  '--load': () => undefined,
  '--cache-status': () => {
    process.stdout.write(`${JSON.stringify(cacheStatus(process.argv[1] ?? '', process.env))}\n`);
  },
};

(MODES[process.argv[2] ?? ''] ?? live)();
