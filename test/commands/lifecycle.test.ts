/** The supervisor in the background, started and stopped by the command line. No engine is needed for that. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { isAlive } from '../../src/commands/processes.ts';
import { EXIT_STATUS } from '../../src/errors.ts';
import type { Home } from '../../src/home.ts';
import { logFile } from '../../src/ops/log-files.ts';
import { packageRoot } from '../../src/package-root.ts';
import { temporaryHome } from './home-fixture.ts';

/** Each is a dozen processes on a machine that may be busy. */
const DEADLINE_MS = 90_000;

const tierclaw = async (home: Home, ...words: string[]) => {
  const child = spawn(process.execPath, [join(packageRoot(), 'dist', 'cli.mjs'), '--home', home.dir, ...words], {
    env: { ...process.env, DOCKER_HOST: 'unix:///nonexistent/engine.sock' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = once(child, 'exit');
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const [status] = await exited;
  return { out, err, status };
};

const madeHome = async (): Promise<Home> => {
  const home = await temporaryHome();
  onTestFinished(async () => void (await tierclaw(home, 'down')));
  await tierclaw(home, 'init');
  return home;
};

test('a supervisor outlives the command that started it, is found, and is gone when down returns', {
  timeout: DEADLINE_MS,
}, async () => {
  const home = await madeHome();
  const started = await tierclaw(home, 'up', '--detach', '--json');
  expect(started.err).toBe('');
  const { pid } = JSON.parse(started.out);
  expect(await isAlive(pid)).toBe(true);

  expect(JSON.parse((await tierclaw(home, 'up', '--detach', '--json')).out)).toEqual({ started: false, pid });
  expect(await tierclaw(home, 'up')).toMatchObject({ status: EXIT_STATUS.conflict });
  expect(JSON.parse((await tierclaw(home, 'status', '--json')).out)).toMatchObject({ pid, engine: null });
  expect((await stat(logFile(home))).mode & 0o777).toBe(0o600);
  expect((await tierclaw(home, 'logs')).out).toContain('supervisor started');

  expect(JSON.parse((await tierclaw(home, 'down', '--json')).out)).toEqual({ stopped: true, pid });
  expect(await isAlive(pid)).toBe(false);
  expect((await tierclaw(home, 'status')).status).toBe(EXIT_STATUS['not-running']);
});

test('a supervisor that can’t start is an error with its own last words and its exit status', {
  timeout: DEADLINE_MS,
}, async () => {
  const home = await madeHome();
  await writeFile(home.configFile, 'isMain: true\n');
  const { err, status } = await tierclaw(home, 'up', '--detach');
  expect(err).toContain(`the supervisor ended with status ${EXIT_STATUS.config} before it answered`);
  expect(err).toContain(`${home.configFile}:1: isMain: unknown key`);
  expect(status).toBe(EXIT_STATUS.config);
  expect(await readFile(logFile(home), 'utf8')).toContain('isMain');
});
