/**
 * A secret that a command prints: run without a shell, in an environment of its own, bounded in time and output.
 * Invariant: nothing of what it prints is in any error, and none of its processes outlives its time.
 */
import { userInfo } from 'node:os';
import { execa } from 'execa';
import type { SecretCommands } from '../domain/credential-config.ts';
import { AppError, isErrno } from '../errors.ts';

type SecretCommand = SecretCommands[string];

const OUTPUT_BYTES_MAX = 64 * 1024;
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

const commandError = (name: string, command: readonly string[], text: string): AppError =>
  new AppError({
    code: 'config',
    message: `the secret ${name}: its command (${command[0]}) ${text}`,
    hint: 'run it by hand as the supervisor’s user; see secrets in tierclaw.yaml, then: tierclaw secrets check',
  });

/** What `pass` and its like need; further variables: `command: [env, NAME=value, pass, …]`. */
const environment = (): Record<string, string> => {
  const { homedir, username } = userInfo();
  return { PATH, HOME: homedir, USER: username, LOGNAME: username, LANG: 'C.UTF-8' };
};

const start = (file: string, args: readonly string[]) =>
  execa(file, [...args], {
    cwd: '/',
    env: environment(),
    extendEnv: false,
    stdin: 'ignore',
    stderr: 'ignore',
    encoding: 'buffer',
    maxBuffer: OUTPUT_BYTES_MAX,
    stripFinalNewline: false,
    reject: false,
    // A process group of its own, so that all of it can be ended.
    detached: true,
    cleanup: true,
  });

const killGroup = (pid: number | undefined): void => {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (thrown) {
    if (!isErrno(thrown, 'ESRCH')) throw thrown;
  }
};

const decode = (bytes: Uint8Array): string | null => {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes).replace(/\r?\n$/, '');
  } catch {
    return null; // Not UTF-8.
  }
};

/** What is wrong with a way to end; null: it ended well. */
const endProblem = (result: Awaited<ReturnType<typeof start>>): string | null => {
  if (result.isMaxBuffer) return `printed more than ${OUTPUT_BYTES_MAX} bytes`;
  if (result.exitCode !== undefined && result.exitCode !== 0) return `ended with exit status ${result.exitCode}`;
  if (result.isTerminated) return `was ended by ${result.signal ?? 'a signal'}`;
  if (!result.failed) return null;
  return result.code === 'ENOENT' ? 'is not there' : `could not be run (${result.code ?? 'no reason given'})`;
};

const late = (milliseconds: number, isOver: AbortSignal): Promise<'late'> =>
  new Promise((resolve) => {
    const timer = setTimeout(() => resolve('late'), milliseconds);
    isOver.addEventListener('abort', () => clearTimeout(timer), { once: true });
  });

/** The secret. Throws AppError `config` with the secret's name and what the command did, never with its output. */
export const readCommand = async (name: string, { command, timeoutSeconds }: SecretCommand): Promise<string> => {
  const [file = '', ...args] = command;
  const over = new AbortController();
  const running = start(file, args);
  // A grandchild may hold the output open for ever: its end is not waited for.
  const result = await Promise.race([running, late(timeoutSeconds * 1000, over.signal)]);
  over.abort();
  // Also after a good end: what it left in the background has nothing to do here.
  killGroup(running.pid);
  // A process that has left the group may hold the other end; it must not hold this process.
  running.stdout.destroy();
  if (result === 'late') throw commandError(name, command, `did not end within ${timeoutSeconds} s and was stopped`);
  const problem = endProblem(result);
  if (problem !== null) throw commandError(name, command, problem);
  const value = decode(result.stdout);
  if (value === null || value.includes('\0')) throw commandError(name, command, 'printed something that is no text');
  if (value === '') throw commandError(name, command, 'printed nothing');
  return value;
};
