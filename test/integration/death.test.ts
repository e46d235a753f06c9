import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import Docker from 'dockerode';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LABELS } from '../../src/domain/plan.ts';
import type { Home } from '../../src/home.ts';
import { packageRoot } from '../../src/package-root.ts';
import { createFaultTable } from './fault-table.ts';
import { makeHome } from './installation.ts';

const CLI = join(packageRoot(), 'dist', 'cli.mjs');

describe('kill -9 of the supervisor in the middle of a turn', () => {
  let home: Home;
  const faults = createFaultTable('Faults: the supervisor dies');
  const docker = new Docker();
  const containers = () => docker.listContainers({ all: true, filters: { label: [`${LABELS.home}=${home.dir}`] } });
  const cli = (...words: string[]) => execa(process.execPath, [CLI, '--home', home.dir, '--json', ...words]);

  beforeAll(async () => {
    home = await makeHome();
  });
  afterAll(async () => {
    await cli('down').catch(() => undefined);
    await rm(home.dir, { recursive: true, force: true });
    faults.print();
  });

  it('ends the container by itself; the next life removes it and answers the message, once', async () => {
    const first = spawn(process.execPath, [CLI, '--home', home.dir, 'up'], { stdio: 'ignore' });
    await expect
      .poll(
        () =>
          cli('status').then(
            () => 'up',
            () => 'down',
          ),
        { timeout: 20_000 },
      )
      .toBe('up');
    const asked = cli('chat', '--group', 'lobby', '--once', 'run: sleep 5; echo here at last').catch(() => undefined);
    await expect.poll(async () => (await containers())[0]?.State, { timeout: 10_000 }).toBe('running');
    first.kill('SIGKILL');
    await Promise.all([once(first, 'exit'), asked]);
    await expect.poll(async () => (await containers())[0]?.State, { timeout: 10_000 }).not.toBe('running');

    await cli('up', '--detach');
    const idle = async () => {
      const { running, waiting } = JSON.parse((await cli('status')).stdout);
      return running.length + waiting.length;
    };
    await expect.poll(idle, { timeout: 30_000 }).toBe(0);
    await expect.poll(containers).toEqual([]);
    const count = `run: sqlite3 /workspace/store/messages.db "select count(*) from messages where chat_id='local:lobby' and content like 'here at last%'"`;
    const { stdout } = await cli('chat', '--group', 'main', '--once', count);
    expect(JSON.parse(stdout).reply).toMatch(/^1$/m);
    faults.note({
      step: 'running',
      broken: 'kill -9 of the supervisor',
      happened: 'container ended by itself; the next life removed it and answered once',
    });
  });
});
