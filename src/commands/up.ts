/** `tierclaw up`: the supervisor in this process, or (detached) in one of its own that outlives the command. */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { runDaemon } from '../daemon.ts';
import { AppError, type ErrorCode, EXIT_STATUS } from '../errors.ts';
import type { Home } from '../home.ts';
import { logFile, rotateLog } from '../ops/log-files.ts';
import { packageRoot } from '../package-root.ts';
import { controlClient, isRunning } from './client.ts';
import type { CommandContext, CommandResult } from './context.ts';
import { renderLogLine } from './logs-render.ts';
import { terminalLine } from './terminal.ts';

const ANSWERS_WITHIN_MS = 60_000;
const POLL_MS = 100;
const PROGRESS_EVERY_MS = 5_000;
const LAST_LINES = 5;
const TROUBLE_CHARS_MAX = 500;
/**
 * Room for new objects, in MB: V8 lets it grow to 32 while a program loads and rarely gives it back. It took 20 MB off
 * an idle supervisor (`npm run bench -- --only idle`); what it costs in speed was not measured. Also in scripts/tierclaw.
 */
const HEAP_FLAGS: readonly string[] = ['--max-semi-space-size=4'];

interface Child {
  readonly pid: number;
  /** Null while it runs; a process that a signal ended has the status of our own errors. */
  exitStatus(): number | null;
  /** What it has written to the log so far. */
  written(): Promise<string>;
}

const program = (): string => {
  const path = join(packageRoot(), 'dist', 'supervisor.mjs');
  if (existsSync(path)) return path;
  throw new AppError({ code: 'not-found', message: `the supervisor is not built: no ${path}`, hint: 'npm run build' });
};

const start = async (home: Home): Promise<Child> => {
  await mkdir(home.logs, { recursive: true, mode: 0o700 });
  await rotateLog(home);
  const log = await open(logFile(home), 'a', 0o600);
  const { size } = await log.stat();
  const state: { exit: number | null } = { exit: null };
  // Not execa: this process outlives its parent, so it writes to the file itself and nothing of it is piped.
  const child = spawn(process.execPath, [...HEAP_FLAGS, program(), home.dir], {
    detached: true,
    stdio: ['ignore', log.fd, log.fd],
  });
  child.once('exit', (status) => {
    state.exit = status ?? EXIT_STATUS.internal;
  });
  child.unref();
  await log.close();
  return {
    pid: child.pid ?? 0,
    exitStatus: () => state.exit,
    written: async () => (await readFile(logFile(home))).subarray(size).toString('utf8'),
  };
};

const codeOf = (status: number): ErrorCode => {
  const found = Object.entries(EXIT_STATUS).find(([, of]) => of === status);
  return (found?.[0] as ErrorCode | undefined) ?? 'internal';
};

const lastWords = async (child: Child): Promise<string> => {
  const lines = (await child.written()).split('\n').filter((line) => line.trim() !== '');
  return lines
    .slice(-LAST_LINES)
    .map((line) => `\n  ${renderLogLine(line)}`)
    .join('');
};

const diedEarly = async (child: Child, status: number): Promise<AppError> =>
  new AppError({
    code: codeOf(status),
    message: `the supervisor ended with status ${status} before it answered${await lastWords(child)}`,
    hint: 'tierclaw logs --lines 50',
  });

const silent = async (child: Child): Promise<AppError> =>
  new AppError({
    code: 'timeout',
    message: `the supervisor (pid ${child.pid}) did not answer within ${ANSWERS_WITHIN_MS / 1000} s${await lastWords(child)}`,
    hint: 'tierclaw logs --follow',
  });

const waitUntilAnswering = async ({ home, screen }: CommandContext, child: Child): Promise<void> => {
  const client = controlClient(home);
  const begun = Date.now();
  let toldAt = begun;
  while (!(await isRunning(client))) {
    const status = child.exitStatus();
    if (status !== null) throw await diedEarly(child, status);
    if (Date.now() - begun > ANSWERS_WITHIN_MS) throw await silent(child);
    if (Date.now() - toldAt > PROGRESS_EVERY_MS) {
      toldAt = Date.now();
      screen.err(`⋯ starting, ${Math.round((toldAt - begun) / 1000)} s\n`);
    }
    await sleep(POLL_MS);
  }
};

const alreadyRunning = async ({ home }: CommandContext): Promise<CommandResult | null> => {
  const client = controlClient(home);
  if (!(await isRunning(client))) return null;
  const { pid } = await client.status();
  return { text: `supervisor is already running (pid ${pid})`, data: { started: false, pid } };
};

const upDetached = async (context: CommandContext): Promise<CommandResult> => {
  const running = await alreadyRunning(context);
  if (running !== null) return running;
  const child = await start(context.home);
  await waitUntilAnswering(context, child);
  const { auditTrouble } = await controlClient(context.home).status();
  const warning =
    auditTrouble === undefined ? '' : `\nNO TURN STARTS: ${terminalLine(auditTrouble, TROUBLE_CHARS_MAX)}`;
  const text = `supervisor started (pid ${child.pid}), log ${logFile(context.home)}${warning}`;
  return { text, data: { started: true, pid: child.pid, ...(auditTrouble === undefined ? {} : { auditTrouble }) } };
};

/** In the foreground it returns when the supervisor has ended; null: nothing more to print. */
export const up = async (context: CommandContext, options: { detach: boolean }): Promise<CommandResult | number> => {
  const { dir } = context.home;
  // A mistyped home must not become one: without groups it would answer nobody.
  if (!existsSync(dir)) {
    throw new AppError({
      code: 'not-found',
      message: `there is no home at ${dir}`,
      hint: `tierclaw init --home ${dir}`,
    });
  }
  if (options.detach) return upDetached(context);
  const running = await alreadyRunning(context);
  if (running === null) return runDaemon({ homeDir: context.home.dir });
  throw new AppError({ code: 'conflict', message: running.text, hint: 'stop it with: tierclaw down' });
};
