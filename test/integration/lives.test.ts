import Docker from 'dockerode';
import { afterEach, describe, expect, it } from 'vitest';
import { openApp } from '../../src/app.ts';
import { LABELS } from '../../src/domain/plan.ts';
import { AppError } from '../../src/errors.ts';
import { type Installation, install } from './installation.ts';

describe('the lives of a supervisor', () => {
  const open: Installation[] = [];
  const setUp = async (): Promise<Installation> => {
    const installation = await install();
    open.push(installation);
    return installation;
  };

  afterEach(async () => {
    await Promise.all(open.splice(0).map((installation) => installation.close()));
  });

  const leave = async (home: string): Promise<string> => {
    const docker = new Docker();
    const container = await docker.createContainer({
      Image: 'tierclaw-base:latest',
      Cmd: ['sleep', '600'],
      Labels: { [LABELS.home]: home, [LABELS.invocation]: '00000000000000000000000000' },
    });
    await container.start();
    return container.id;
  };

  it('removes at start what an earlier one left behind, of its own home only', async () => {
    const installation = await setUp();
    const own = await leave(installation.home.dir);
    const foreign = await leave('/another/home');
    try {
      await installation.restart();
      await expect(installation.docker.getContainer(own).inspect()).rejects.toMatchObject({ statusCode: 404 });
      expect((await installation.docker.getContainer(foreign).inspect()).State.Running).toBe(true);
    } finally {
      await installation.docker.getContainer(foreign).remove({ force: true });
    }
  });

  it('refuses a second supervisor on one home and names the first', async () => {
    const { home } = await setUp();
    const second = openApp({
      homeDir: home.dir,
      environment: { home: undefined, dockerHost: undefined, logLevel: 'silent' },
    });
    await expect(second).rejects.toSatisfy(
      (thrown) =>
        thrown instanceof AppError && thrown.code === 'conflict' && thrown.message.includes(`pid ${process.pid}`),
    );
  });

  it('cancels a turn when the operator asks, and the container is gone', async () => {
    const installation = await setUp();
    const heard: string[] = [];
    for await (const event of installation.events('lobby', 'run: sleep 60')) {
      heard.push(event.kind === 'done' ? event.reason : event.kind);
      if (event.kind === 'thinking') expect(installation.app.supervisor.cancel(event.invocation)).toBe(true);
    }
    expect(heard.at(-1)).toBe('cancelled');
    await expect.poll(installation.containers).toEqual([]);
  });

  it('answers after a restart what a shutdown cut off, once', async () => {
    const installation = await setUp();
    const controller = new AbortController();
    for await (const event of installation.events('lobby', 'run: sleep 3; echo done after all', controller.signal)) {
      if (event.kind === 'thinking') break;
    }
    await installation.restart();
    const said = () => installation.app.supervisor.status();
    await expect.poll(() => said().running.length + said().waiting.length, { timeout: 20_000 }).toBe(0);
    const { reply } = await installation.say(
      'main',
      "run: sqlite3 /workspace/store/messages.db \"select count(*) from messages where chat_id='local:lobby' and content like 'done after all%'\"",
    );
    expect(reply).toMatch(/^1$/m);
  });
});
