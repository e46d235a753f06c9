/** The runner in its real image, confined as the tightest container is; needs the base of scripts/base-image.sh. */
import { randomBytes } from 'node:crypto';
import { chmod, chown, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { readEnvironment } from '../../src/config.ts';
import { type ContainerSpec, LABELS } from '../../src/domain/plan.ts';
import { DEFAULT_TIER, tierRow } from '../../src/domain/tiers.ts';
import { encodeFrame, RunnerFrame } from '../../src/protocol.ts';
import { createDockerRuntime } from '../../src/runtimes/docker.ts';
import { engineSocket, openEngine } from '../../src/runtimes/engine.ts';
import { ensureImage } from '../../src/runtimes/image.ts';
import type { RunningContainer } from '../../src/runtimes/runtime.ts';
import { initFrame } from '../container/init-frame.ts';
import { type Reply, type StandIn, startStandIn } from '../container/model-stand-in.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const UID = 10_001;
const SOCKET = engineSocket({ dockerHost: readEnvironment().dockerHost });
const HOME_ID = `test-${randomBytes(6).toString('hex')}`;
const engine = openEngine(SOCKET);
const runtime = createDockerRuntime({ socketPath: SOCKET, homeId: HOME_ID, logger: pino({ level: 'silent' }) });
const made = { image: '', scratch: '' };
const standIns: StandIn[] = [];

beforeAll(async () => {
  made.scratch = await mkdtemp(join(tmpdir(), 'runner-image-'));
  made.image = (await ensureImage({ engine, uid: UID, root: ROOT })).tag;
});
afterEach(async () => {
  await Promise.all((await runtime.list()).map((found) => runtime.remove(found.id)));
  for (const standIn of standIns.splice(0)) await standIn.close();
});
afterAll(async () => {
  runtime.close();
  engine.close();
  await rm(made.scratch, { recursive: true, force: true });
});

/** Source directories below one of this container's own; what is writable inside belongs to its uid. */
const layOut = async (): Promise<{ directory: string; mounts: ContainerSpec['mounts'] }> => {
  const directory = await mkdtemp(join(made.scratch, 'turn-'));
  await chmod(directory, 0o755);
  const places = [
    ['group', '/workspace/group', true],
    ['messages', '/workspace/ipc/messages', false],
    ['input', '/workspace/ipc/input', true],
    ['store', '/workspace/store', true],
    ['run', '/run/tierclaw', true],
  ] as const;
  for (const [name, , readOnly] of places) {
    await mkdir(join(directory, name));
    if (!readOnly) await chown(join(directory, name), UID, UID);
  }
  const mounts = places.map(([name, target, readOnly]) => ({ target, source: join(directory, name), readOnly }));
  return { directory, mounts };
};

interface Started {
  readonly directory: string;
  readonly container: RunningContainer;
  stdout(): string;
}

const start = async (
  replies: readonly Reply[],
  command?: readonly string[],
): Promise<Started & { standIn: StandIn }> => {
  const { directory, mounts } = await layOut();
  const standIn = await startStandIn(join(directory, 'run', 'gateway.sock'), replies);
  standIns.push(standIn);
  await chmod(join(directory, 'run', 'gateway.sock'), 0o666);
  const chunks: Buffer[] = [];
  const invocation = randomBytes(6).toString('hex');
  const spec: ContainerSpec = {
    name: `tierclaw-test-${invocation}`,
    image: made.image,
    command: command ?? ['node', '/opt/tierclaw/runner.mjs'],
    env: {},
    labels: { [LABELS.home]: HOME_ID, [LABELS.invocation]: invocation },
    uid: UID,
    workdir: '/workspace/group',
    mounts,
    limits: tierRow(DEFAULT_TIER).limits,
  };
  const container = await runtime.start(spec, { stdout: (chunk) => void chunks.push(chunk), stderr: () => undefined });
  return { directory, container, standIn, stdout: () => Buffer.concat(chunks).toString('utf8') };
};

const framesOf = (started: Started): RunnerFrame[] =>
  started
    .stdout()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => RunnerFrame.parse(JSON.parse(line)));

const outputOf = async (command: readonly string[]): Promise<string> => {
  const started = await start([], command);
  expect((await started.container.exited).exitCode).toBe(0);
  return started.stdout();
};

describe('the image', () => {
  it('starts the runner from its compile cache, on a read-only root', async () => {
    const status = JSON.parse(await outputOf(['node', '/opt/tierclaw/runner.mjs', '--cache-status']));
    expect(status).toMatchObject({ hit: true, directory: expect.stringContaining(`-${UID}`) });
  });

  it('has no file that lends its owner’s rights, and none of the runner’s that others may write', async () => {
    const suid = 'find / -xdev -perm /6000 -type f 2>/dev/null; find /opt/tierclaw ! -user 0 -o -perm /022; echo end';
    expect(await outputOf(['sh', '-c', suid])).toBe('end\n');
  });
});

describe('a turn in a container', () => {
  it('has its tools, reads what it may, and is told where it may not write', async () => {
    const calls = [
      { id: 't1', name: 'glob', input: { pattern: '*.md' } },
      { id: 't2', name: 'grep', input: { pattern: 'seven|--x', path: '.' } },
      { id: 't3', name: 'file_write', input: { path: 'new.txt', content: 'x' } },
      { id: 't4', name: 'bash', input: { command: 'id -u; echo ok > ~/f; cat ~/f; sqlite3 --version | cut -c1-2' } },
      { id: 't5', name: 'bash', input: { command: 'curl -s -o /dev/null -w "%{http_code}" http://example.com/' } },
    ];
    const started = await start([{ calls }, { text: 'done' }]);
    const group = join(started.directory, 'group');
    await mkdir(join(group, 'sub'));
    await writeFile(join(group, 'sub', 'notes.md'), 'one\nseven\n');
    started.container.write(encodeFrame(initFrame()));
    await expect.poll(() => framesOf(started).some(({ type }) => type === 'progress'), { timeout: 20_000 }).toBe(true);
    await writeFile(join(started.directory, 'store', 'messages.db'), '');
    expect(await started.container.exited).toMatchObject({ exitCode: 0, oomKilled: false });
    expect(framesOf(started).at(-1)).toEqual({ type: 'result', text: 'done' });
    expect(started.standIn.requests[1]?.messages.at(-1)?.content).toMatchObject([
      { content: 'sub/notes.md\n' },
      { content: './sub/notes.md:2:seven\n' },
      { content: 'new.txt is read-only in this chat.', is_error: true },
      { content: '10001\nok\n3.\n[exit code: 0]' },
      // It got as far as the socket's server, which knows models only.
      { content: '404\n[exit code: 0]' },
    ]);
  });

  it('sends a message through its two directories', async () => {
    const started = await start([
      { calls: [{ id: 't1', name: 'send_message', input: { text: 'hi' } }] },
      { text: 'ok' },
    ]);
    await writeFile(join(started.directory, 'store', 'messages.db'), '');
    started.container.write(encodeFrame(initFrame()));
    const messages = join(started.directory, 'messages');
    const sent = async (): Promise<string | undefined> => (await readdir(messages)).find((name) => /^[^.]/.test(name));
    await expect.poll(sent, { timeout: 20_000 }).toBeDefined();
    const name = (await sent()) ?? '';
    const { id } = JSON.parse(await readFile(join(messages, name), 'utf8'));
    const input = join(started.directory, 'input');
    await writeFile(join(input, 'a.tmp'), JSON.stringify({ type: 'answer', id, ok: true, detail: 'Sent to Demo.' }));
    await rename(join(input, 'a.tmp'), join(input, `${id}.json`));
    started.container.write(encodeFrame({ type: 'poke' }));
    expect((await started.container.exited).exitCode).toBe(0);
    expect(started.standIn.requests[1]?.messages.at(-1)?.content).toMatchObject([{ content: 'Sent to Demo.' }]);
  });
});
