import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { engineError, engineSays, engineSocket, openEngine } from '../../src/runtimes/engine.ts';

describe('where the engine is', () => {
  it.each([
    { configured: undefined, dockerHost: undefined, socket: '/var/run/docker.sock' },
    { configured: undefined, dockerHost: '', socket: '/var/run/docker.sock' },
    { configured: undefined, dockerHost: 'unix:///run/user/1000/docker.sock', socket: '/run/user/1000/docker.sock' },
    { configured: '/srv/docker.sock', dockerHost: undefined, socket: '/srv/docker.sock' },
    { configured: '/srv/docker.sock', dockerHost: 'tcp://elsewhere:2375', socket: '/srv/docker.sock' },
  ])('is $socket for the path $configured and DOCKER_HOST $dockerHost', ({ configured, dockerHost, socket }) => {
    expect(engineSocket({ socketPath: configured, dockerHost })).toBe(socket);
  });

  it.each([
    'tcp://10.0.0.1:2375',
    'ssh://box',
    'http://box',
    'npipe:////./pipe/docker',
    'unix://',
    'unix://rel',
    'box',
  ])('is never %s', (dockerHost) => {
    expect(() => engineSocket({ dockerHost })).toThrow(
      expect.objectContaining({ code: 'engine', message: expect.stringContaining(`"${dockerHost}"`) }),
    );
  });
});

describe('an engine that can’t be reached', () => {
  const dirs: string[] = [];
  afterEach(async () => {
    vi.unstubAllEnvs();
    await Promise.all(dirs.splice(0).map((dir) => rm(dir, { recursive: true })));
  });
  const scratch = async (): Promise<string> => {
    const dir = await mkdtemp(join(tmpdir(), 'engine-'));
    dirs.push(dir);
    return dir;
  };
  const complaint = async (socketPath: string) => {
    const engine = openEngine(socketPath);
    const thrown = await engine.quick.version().catch((reason: unknown) => reason);
    engine.close();
    return engineError(engine, 'ask its version', thrown);
  };

  it('is named with its socket, what was found and what to run', async () => {
    const missing = join(await scratch(), 'no.sock');
    const error = await complaint(missing);
    expect(error).toMatchObject({ code: 'engine', hint: './scripts/engine.sh' });
    expect(error.message).toContain(`${missing} (ENOENT)`);
  });

  it('may be a file that nobody listens on', async () => {
    const file = join(await scratch(), 'file');
    await writeFile(file, '');
    expect((await complaint(file)).message).toMatch(/ECONNREFUSED|ENOTSOCK/);
  });

  it('may be one that takes the question and never answers', async () => {
    const socketPath = join(await scratch(), 'e.sock');
    const server = createServer(() => undefined).listen(socketPath);
    const engine = openEngine(socketPath, 50);
    await expect(engine.quick.version()).rejects.toThrow();
    engine.close();
    server.close();
  });

  it('is never looked for where the environment points, once a socket was given', async () => {
    vi.stubEnv('DOCKER_HOST', 'tcp://127.0.0.1:1');
    const socketPath = join(await scratch(), 'e.sock');
    const server = createServer((_, response) => response.end('{"Version":"9"}')).listen(socketPath);
    const engine = openEngine(socketPath);
    await expect(engine.quick.version()).resolves.toEqual({ Version: '9' });
    engine.close();
    server.close();
  });
});

describe('an engine’s client', () => {
  it('has nothing in its options that takes long to format, while a request is under way', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'tierclaw-engine-'));
    const socketPath = join(directory, 'e.sock');
    const server = createServer(() => undefined).listen(socketPath);
    const engine = openEngine(socketPath, 2000);
    const asked = engine.quick.version().catch(() => undefined);
    await once(server, 'request');
    const options = inspect(engine.quick.modem, { showHidden: true, depth: null });
    expect(options.length).toBeLessThan(5000);
    server.closeAllConnections();
    await asked;
    engine.close();
    server.close();
    await rm(directory, { recursive: true });
  });
});

describe('an engine’s refusal', () => {
  it('is told without the library’s prefix', () => {
    expect(engineSays(new Error('(HTTP code 404) no such container - No such image: x:1 '))).toBe('No such image: x:1');
  });
});
