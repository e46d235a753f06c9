/** What a healthy engine never says: warnings, missing limits, conflicts. Said here by a server on a socket. */
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type ContainerSpec, LABELS } from '../../src/domain/plan.ts';
import { createDockerRuntime } from '../../src/runtimes/docker.ts';

type Answer = readonly [status: number, body: unknown];
type Script = Readonly<Record<string, readonly Answer[]>>;

const GONE: Answer = [404, { message: 'No such container: c1' }];
const STATE: Answer = [
  200,
  { State: { Running: false, OOMKilled: false, ExitCode: 0 }, Config: { Labels: { [LABELS.home]: 'h' } } },
];

let dir = '';
let server: Server | null = null;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'docker-'));
});
afterEach(async () => {
  server?.close();
  await rm(dir, { recursive: true });
});

/** An engine that gives to `METHOD /path` the scripted answers in turn, the last one again and again. */
const engineThatSays = (script: Script) => {
  const asked: string[] = [];
  const socketPath = join(dir, 'engine.sock');
  server = createServer((request, response) => {
    const question = `${request.method} ${request.url?.split('?')[0]}`;
    const answers = script[question] ?? [[500, { message: `unexpected: ${question}` }] as const];
    const turn = asked.filter((earlier) => earlier === question).length;
    const [status, body] = answers[Math.min(turn, answers.length - 1)] ?? [500, {}];
    asked.push(question);
    request.resume();
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  }).listen(socketPath);
  const runtime = createDockerRuntime({ socketPath, homeId: 'h', logger: pino({ level: 'silent' }) });
  return { runtime, asked };
};

const SPEC: ContainerSpec = {
  name: 'c',
  image: 'i',
  command: ['true'],
  env: {},
  labels: { [LABELS.home]: 'h' },
  uid: 10_001,
  workdir: '/',
  mounts: [],
  limits: {
    rootfs: 'read-only',
    tmp: null,
    ipcNamespace: 'none',
    memoryBytes: 1 << 29,
    swap: false,
    cpus: 1,
    pids: 256,
    fileBytes: null,
    wallMs: 1000,
  },
};
const SINK = { stdout: () => undefined, stderr: () => undefined };

describe('an engine that would discard a limit', () => {
  it('doesn’t start the container, and has it removed', async () => {
    const { runtime, asked } = engineThatSays({
      'POST /containers/create': [
        [
          201,
          {
            Id: 'c1',
            Warnings: ['Your kernel does not support swap limit capabilities. Memory limited without swap.'],
          },
        ],
      ],
      'DELETE /containers/c1': [[204, null]],
      'GET /containers/c1/json': [GONE],
    });
    await expect(runtime.start(SPEC, SINK)).rejects.toMatchObject({
      code: 'engine',
      message: expect.stringContaining('(swap)'),
    });
    expect(asked).toEqual(['POST /containers/create', 'DELETE /containers/c1', 'GET /containers/c1/json']);
  });

  it('names it when it is asked', async () => {
    const { runtime } = engineThatSays({
      'GET /version': [[200, { Version: '20.10', ApiVersion: '1.41', Platform: { Name: '' } }]],
      'GET /info': [
        [
          200,
          { KernelVersion: '6.1', NCPU: 2, MemTotal: 1024, MemoryLimit: true, SwapLimit: false, CpuCfsQuota: true },
        ],
      ],
    });
    expect(await runtime.check()).toEqual({
      name: 'Docker Engine',
      version: '20.10',
      apiVersion: '1.41',
      discards: ['swap', 'pids'],
      cpus: 2,
      memoryBytes: 1024,
      machine: {
        operatingSystem: null,
        rootDirectory: null,
        kernel: '6.1',
        cgroupVersion: null,
        storageDriver: null,
        securityOptions: [],
        runc: null,
      },
    });
  });
});

describe('a removal', () => {
  it('isn’t done before the engine says that the container is gone', async () => {
    const { runtime, asked } = engineThatSays({
      'DELETE /containers/c1': [
        [500, { message: 'driver is busy' }],
        [409, { message: 'removal already in progress' }],
      ],
      'GET /containers/c1/json': [STATE, STATE, STATE, GONE],
    });
    await runtime.remove('c1');
    expect(asked.filter((question) => question.startsWith('GET'))).toHaveLength(4);
  });
});

describe('an answer that no engine gives', () => {
  it('is an error of the engine', async () => {
    const { runtime } = engineThatSays({ 'GET /version': [[200, {}]], 'GET /info': [[200, {}]] });
    await expect(runtime.check()).rejects.toMatchObject({
      code: 'engine',
      message: expect.stringMatching(/isn’t understood.*ApiVersion/s),
    });
  });
});
