/**
 * Runs one program in a process group of its own, with bounded output and time. When it ends by our hand, the whole
 * group goes; nothing it leaves behind keeps the caller waiting.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { OutputCap } from './output-cap.ts';

export interface Command {
  readonly file: string;
  readonly arguments: readonly string[];
  readonly cwd: string;
  /** All of the environment. */
  readonly environment: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly outputBytesMax: number;
  readonly signal: AbortSignal;
}

export type CommandEnd =
  | { readonly how: 'exited'; readonly code: number }
  | { readonly how: 'killed'; readonly signal: string }
  | { readonly how: 'timed-out'; readonly afterMs: number };

export interface CommandResult {
  /** stdout and stderr as they came in. */
  readonly output: string;
  readonly end: CommandEnd;
}

/** From TERM to KILL after a timeout. */
const GRACE_MS = 1000;
/** How long output is awaited after the program ended: a process in the background may hold the pipe open for ever. */
const DRAIN_MS = 200;

const killGroup = (child: ChildProcess, signal: NodeJS.Signals): void => {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch {
    // ESRCH: everybody in it has ended already.
  }
};

const ended = (child: ChildProcess): Promise<CommandEnd> =>
  new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => {
      const drained = setTimeout(settle, DRAIN_MS);
      child.once('close', settle);
      function settle(): void {
        clearTimeout(drained);
        resolve(signal === null ? { how: 'exited', code: code ?? -1 } : { how: 'killed', signal });
      }
    });
  });

/** A background process may write on; it is read and thrown away, so that it isn't stopped by a closed or full pipe. */
const letGo = (child: ChildProcess): void => {
  for (const stream of [child.stdout, child.stderr]) {
    stream?.removeAllListeners('data');
    stream?.resume();
    if (stream !== null && 'unref' in stream && typeof stream.unref === 'function') stream.unref();
  }
};

/** Rejects when it can't be started, and with the signal's reason when aborted. */
export const runCommand = async (command: Command): Promise<CommandResult> => {
  command.signal.throwIfAborted();
  const output = new OutputCap(command.outputBytesMax);
  const child = spawn(command.file, command.arguments, {
    cwd: command.cwd,
    env: { ...command.environment },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  child.stdout.on('data', (chunk: Buffer) => output.push(chunk));
  child.stderr.on('data', (chunk: Buffer) => output.push(chunk));
  const stop = boundTime(child, command);
  try {
    const end = await ended(child);
    command.signal.throwIfAborted();
    return { output: output.text(), end: stop.timedOut() ? { how: 'timed-out', afterMs: command.timeoutMs } : end };
  } finally {
    stop.dispose();
    letGo(child);
  }
};

interface TimeBound {
  timedOut(): boolean;
  dispose(): void;
}

const boundTime = (child: ChildProcess, { signal, timeoutMs }: Command): TimeBound => {
  let timedOut = false;
  const kill = (): void => killGroup(child, 'SIGKILL');
  let timer = setTimeout(() => {
    timedOut = true;
    killGroup(child, 'SIGTERM');
    timer = setTimeout(kill, GRACE_MS);
  }, timeoutMs);
  signal.addEventListener('abort', kill, { once: true });
  return {
    timedOut: () => timedOut,
    dispose: () => {
      clearTimeout(timer);
      // Whoever ignored TERM goes as well, though the first process has ended.
      if (timedOut) kill();
      signal.removeEventListener('abort', kill);
    },
  };
};
