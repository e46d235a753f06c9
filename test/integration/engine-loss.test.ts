import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Docker from 'dockerode';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { ChatEvent } from '../../src/ops/control-protocol.ts';
import { imageFile } from '../../src/planning.ts';
import { createFaultTable } from './fault-table.ts';
import { type Installation, install } from './installation.ts';

/** An engine of this test's own, to be stopped and started: the one that other tests use stays untouched. */
const createEngine = async () => {
  const directory = await mkdtemp(join(tmpdir(), 'tierclaw-engine-'));
  const socket = join(directory, 'engine.sock');
  const words = [
    ...['--host', `unix://${socket}`, '--data-root', join(directory, 'data'), '--exec-root', join(directory, 'exec')],
    ...['--pidfile', join(directory, 'engine.pid'), '--bridge', 'none', '--iptables=false', '--log-level', 'error'],
  ];
  const life: { child: ChildProcess | null } = { child: null };
  const docker = new Docker({ socketPath: socket });
  const start = async (): Promise<void> => {
    // In namespaces of its own: an engine without a bridge takes the machine's bridge away, and leaves mounts behind.
    life.child = spawn('unshare', ['--net', '--mount', 'dockerd', ...words], { stdio: 'ignore' });
    await vi.waitFor(() => docker.ping(), { timeout: 30_000, interval: 200 });
  };
  const stop = async (signal: 'SIGTERM' | 'SIGKILL'): Promise<void> => {
    const { child } = life;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill(signal);
    await exited;
    // A killed engine leaves its containerd's files, which the next one takes for a containerd that runs.
    await execa('pkill', ['-9', '-f', join(directory, 'exec', 'containerd')], { reject: false });
    await rm(join(directory, 'exec', 'containerd'), { recursive: true, force: true });
  };
  const close = async (): Promise<void> => {
    await stop('SIGTERM');
    await execa('pkill', ['-9', '-f', directory], { reject: false });
    await rm(directory, { recursive: true, force: true });
  };
  return { socket, docker, start, stop, close };
};

describe('an engine that goes away in the middle of a turn', () => {
  let engine: Awaited<ReturnType<typeof createEngine>>;
  let installation: Installation;
  const faults = createFaultTable('Faults: the engine goes away in the middle of a turn');

  const copyImage = async (tag: string): Promise<void> => {
    await execa('sh', ['-c', `docker save "$1" | docker -H "unix://$2" load -q`, 'sh', tag, engine.socket]);
  };

  beforeAll(async () => {
    engine = await createEngine();
    await engine.start();
    installation = await install({
      prepare: async (home) => {
        await copyImage(JSON.parse(await readFile(imageFile(home), 'utf8')).tag);
        await writeFile(
          home.configFile,
          `runtime: { docker: { socket: ${engine.socket} } }\nqueue: { retrySeconds: 1 }\n`,
        );
      },
    });
  });
  afterAll(async () => {
    await installation?.close();
    await engine?.close();
    faults.print();
  });

  it.each(['SIGTERM', 'SIGKILL'] as const)(
    'by %s: the message is answered once it is back, once, and nothing is left',
    async (signal) => {
      const heard: ChatEvent[] = [];
      const restart = async (): Promise<void> => {
        await engine.stop(signal);
        await engine.start();
      };
      let restarted: Promise<void> | null = null;
      for await (const event of installation.events('lobby', `run: sleep 3; echo after ${signal}`)) {
        heard.push(event);
        if (event.kind === 'thinking') restarted ??= restart();
      }
      await restarted;
      expect(heard.at(-1)).toMatchObject({ kind: 'done', reason: 'completed' });
      const said = heard.flatMap((event) => (event.kind === 'message' ? [event.text] : []));
      expect(said).toEqual([expect.stringContaining(`after ${signal}`)]);
      await expect.poll(() => engine.docker.listContainers({ all: true }), { timeout: 20_000 }).toEqual([]);
      faults.note({
        step: 'running',
        broken: `engine stopped by ${signal}, started again`,
        happened: 'turn tried again, answered once, no container left',
      });
    },
  );
});
