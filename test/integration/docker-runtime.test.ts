/** The Docker runtime on a real engine; needs the image that scripts/base-image.sh makes. */
import { randomBytes } from 'node:crypto';
import { chown, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { readEnvironment } from '../../src/config.ts';
import { type ContainerSpec, LABELS, type PlannedLimits } from '../../src/domain/plan.ts';
import { createDockerRuntime } from '../../src/runtimes/docker.ts';
import { engineSocket, openEngine } from '../../src/runtimes/engine.ts';
import type { RunningContainer } from '../../src/runtimes/runtime.ts';

const IMAGE = 'tierclaw-base:latest';
const MIB = 1024 * 1024;
const SOCKET = engineSocket({ dockerHost: readEnvironment().dockerHost });
const HOME_ID = `test-${randomBytes(6).toString('hex')}`;
const logger = pino({ level: 'silent' });

const OPEN: PlannedLimits = {
  rootfs: 'writable',
  tmp: null,
  ipcNamespace: 'private',
  memoryBytes: null,
  swap: true,
  cpus: null,
  pids: null,
  fileBytes: null,
  wallMs: null,
};
const CONFINED: PlannedLimits = {
  rootfs: 'read-only',
  tmp: { bytes: 64 * MIB, inodes: 1000 },
  ipcNamespace: 'none',
  memoryBytes: 128 * MIB,
  swap: false,
  cpus: 1,
  pids: 64,
  fileBytes: 4 * MIB,
  wallMs: 300_000,
};

const engine = openEngine(SOCKET);
const runtime = createDockerRuntime({ socketPath: SOCKET, homeId: HOME_ID, logger });
let scratch = '';

beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'docker-runtime-'));
});

const namesHere = async (): Promise<string[]> =>
  (await engine.quick.listContainers({ all: true, filters: { label: [`${LABELS.home}=${HOME_ID}`] } })).map(
    (found) => found.Id,
  );

afterEach(async () => {
  await Promise.all((await runtime.list()).map((found) => runtime.remove(found.id)));
});

afterAll(async () => {
  runtime.close();
  engine.close();
  await rm(scratch, { recursive: true, force: true });
});

type Mount = ContainerSpec['mounts'][number];

const specOf = (command: readonly string[], limits: PlannedLimits, mounts: readonly Mount[] = []): ContainerSpec => {
  const invocation = randomBytes(8).toString('hex');
  return {
    name: `tierclaw-${HOME_ID}-${invocation}`,
    image: IMAGE,
    command,
    env: { GREETING: 'good day' },
    labels: { [LABELS.home]: HOME_ID, [LABELS.invocation]: invocation },
    uid: 10_001,
    workdir: '/',
    mounts,
    limits,
  };
};

/** Collects output as text and lets a test wait for a piece of it. */
const listen = () => {
  const seen = { stdout: '', stderr: '' };
  const waiting: (() => void)[] = [];
  const take = (name: 'stdout' | 'stderr') => (chunk: Buffer) => {
    seen[name] += chunk.toString('utf8');
    for (const wake of waiting.splice(0)) wake();
  };
  const until = async (text: string): Promise<void> => {
    while (!seen.stdout.includes(text)) await new Promise<void>((wake) => waiting.push(wake));
  };
  return { seen, until, sink: { stdout: take('stdout'), stderr: take('stderr') } };
};

/** Runs a command to its end and removes it. */
const run = async (command: readonly string[], limits: PlannedLimits, mounts: readonly Mount[] = []) => {
  const { seen, sink } = listen();
  const container = await runtime.start(specOf(command, limits, mounts), sink);
  const exit = await container.exited;
  await container.remove(0);
  return { ...seen, exit };
};

const bash = (script: string): string[] => ['bash', '-c', script];

const isGone = async (container: RunningContainer): Promise<boolean> => {
  const thrown = await engine.quick
    .getContainer(container.id)
    .inspect()
    .catch((reason: unknown) => reason);
  return thrown instanceof Error && 'statusCode' in thrown && thrown.statusCode === 404;
};

const within = <T>(ms: number, work: Promise<T>): Promise<T> =>
  Promise.race([
    work,
    new Promise<never>((_, reject) => setTimeout(() => reject(new Error(`not done within ${ms} ms`)), ms).unref()),
  ]);

describe('the engine', () => {
  it('reports what it is and keeps every limit', async () => {
    const report = await runtime.check();
    expect(report.version).toMatch(/^\d+\./);
    expect(report.cpus).toBeGreaterThan(0);
    expect(report.discards).toEqual([]);
  });
});

describe('a container’s stdin and output', () => {
  it('carry lines both ways while stdin stays open, each stream for itself', async () => {
    const { seen, until, sink } = listen();
    const script = 'while read -r line; do echo "got $line"; echo "warn $line" >&2; [ "$line" = end ] && exit 7; done';
    const container = await runtime.start(specOf(bash(script), OPEN), sink);
    container.write('one\n');
    await until('got one\n');
    container.write('two\n');
    await until('got two\n');
    container.write('end\n');
    expect(await container.exited).toEqual({ exitCode: 7, oomKilled: false, engineLost: false });
    expect(seen).toEqual({ stdout: 'got one\ngot two\ngot end\n', stderr: 'warn one\nwarn two\nwarn end\n' });
    container.write('after the end\n');
    await container.remove(0);
    container.write('after the removal\n');
  });

  it('hold nothing but what was written', async () => {
    const { seen, until, sink } = listen();
    const container = await runtime.start(specOf(bash('read -r line; printf "%s|" "$line" | od -c'), OPEN), sink);
    container.write('x\n');
    await container.exited;
    await until('|');
    expect(seen.stdout).toBe('0000000   x   |\n0000002\n');
    await container.remove(0);
  });

  it('take 4 MiB in one line', async () => {
    const { seen, sink } = listen();
    const container = await runtime.start(specOf(bash('head -n 1 | wc -c'), OPEN), sink);
    container.write(`${'x'.repeat(4 * MIB)}\n`);
    await container.exited;
    expect(seen.stdout.trim()).toBe(String(4 * MIB + 1));
    await container.remove(0);
  });

  it('of a container that is over at once are not lost', async () => {
    const all = await Promise.all(Array.from({ length: 6 }, () => run(bash('echo hi; echo ho >&2'), OPEN)));
    for (const { stdout, stderr, exit } of all) {
      expect({ stdout, stderr, code: exit.exitCode }).toEqual({ stdout: 'hi\n', stderr: 'ho\n', code: 0 });
    }
  });

  it('end the container, and nothing else, when whoever takes them fails', async () => {
    const spec = specOf(bash('echo up; read -r line; exit 9'), OPEN);
    const container = await runtime.start(spec, {
      stdout: () => {
        throw new Error('a bug');
      },
      stderr: () => undefined,
    });
    expect(await container.exited).toMatchObject({ exitCode: 9 });
    await container.remove(0);
  });

  it('are complete when the exit is told', async () => {
    const result = await run(bash('head -c 3000000 /dev/zero | tr "\\0" x'), OPEN);
    expect(result.stdout).toHaveLength(3_000_000);
  });

  it('don’t keep a flood from being removed', { timeout: 60_000 }, async () => {
    let bytes = 0;
    const container = await runtime.start(specOf(bash('yes | head -c 200000000; echo done >&2; sleep 100'), CONFINED), {
      stdout: (chunk) => {
        bytes += chunk.length;
        if (bytes > MIB) container.discardOutput();
      },
      stderr: () => undefined,
    });
    while (bytes <= MIB) await new Promise((wake) => setTimeout(wake, 20));
    const stopped = bytes;
    await within(15_000, container.remove(0));
    expect(bytes).toBe(stopped);
    expect(await isGone(container)).toBe(true);
  });

  it('are drained to the end when they are thrown away', { timeout: 60_000 }, async () => {
    const { seen, sink } = listen();
    const container = await runtime.start(specOf(bash('yes | head -c 50000000; exit 5'), OPEN), sink);
    container.discardOutput();
    expect(await container.exited).toMatchObject({ exitCode: 5 });
    expect(seen.stdout.length).toBeLessThan(50_000_000);
    await container.remove(0);
  });
});

describe('the end of a container', () => {
  it('by memory is told apart', async () => {
    const hog = ['python3', '-c', 'x = "x" * (400 << 20)'];
    const { exit } = await run(hog, CONFINED);
    expect(exit).toEqual({ exitCode: 137, oomKilled: true, engineLost: false });
  });

  it('comes to processes that ignore TERM, after the grace that they were given', async () => {
    const { until, sink } = listen();
    const script =
      'trap "" TERM; for i in 1 2 3 4 5 6 7 8; do (trap "" TERM; sleep 1000; sleep 1000) & done; echo up; wait; sleep 1000';
    const container = await runtime.start(specOf(bash(script), OPEN), sink);
    await until('up');
    await within(15_000, container.remove(1000));
    expect(await isGone(container)).toBe(true);
    expect(await container.exited).toEqual({ exitCode: 137, oomKilled: false, engineLost: false });
  });

  it('lets a program that listens to TERM end itself', async () => {
    const { until, sink } = listen();
    const container = await runtime.start(
      specOf(bash('trap "exit 3" TERM; echo up; while :; do sleep 0.1; done'), OPEN),
      sink,
    );
    await until('up');
    await container.remove(10_000);
    expect(await container.exited).toMatchObject({ exitCode: 3 });
  });

  it('is hastened by a second, impatient call, and either is idempotent', async () => {
    const { until, sink } = listen();
    const container = await runtime.start(specOf(bash('trap "" TERM; echo up; while :; do sleep 1; done'), OPEN), sink);
    await until('up');
    const patient = container.remove(50_000);
    await within(15_000, Promise.all([container.remove(0), patient]));
    await container.remove(0);
    expect(await isGone(container)).toBe(true);
  });

  it('comes when someone else removed it, too', async () => {
    const { until, sink } = listen();
    const container = await runtime.start(specOf(bash('echo up; sleep 1000'), OPEN), sink);
    await until('up');
    await engine.patient.getContainer(container.id).remove({ force: true });
    await within(15_000, container.exited);
    await container.remove(1000);
    expect(await isGone(container)).toBe(true);
  });
});

describe('a start that fails', () => {
  it('for want of an image says how to make it', async () => {
    const spec = { ...specOf(['true'], OPEN), image: 'tierclaw-agent:no-such' };
    await expect(runtime.start(spec, listen().sink)).rejects.toMatchObject({
      code: 'image',
      message: expect.stringContaining('tierclaw-agent:no-such'),
      hint: 'tierclaw image build',
    });
    expect(await namesHere()).toEqual([]);
  });

  it('for want of a mount’s source names it, and makes neither container nor directory', async () => {
    const source = join(scratch, 'not-there');
    const mounts = [{ target: '/workspace/group', source, readOnly: true }];
    await expect(runtime.start(specOf(['true'], OPEN, mounts), listen().sink)).rejects.toMatchObject({
      code: 'internal',
      message: expect.stringContaining(source),
    });
    expect(await namesHere()).toEqual([]);
    expect(await readdir(scratch)).not.toContain('not-there');
  });

  it('after the container was made leaves nothing', async () => {
    const forbidden = [{ target: '/proc/nope', source: scratch, readOnly: true }];
    await expect(runtime.start(specOf(['true'], OPEN, forbidden), listen().sink)).rejects.toMatchObject({
      code: 'engine',
      message: expect.stringContaining('/proc'),
    });
    expect(await namesHere()).toEqual([]);
  });
});

describe('the containers of a home', () => {
  it('are listed by its label, running or not, and no other home’s are', async () => {
    const other = createDockerRuntime({ socketPath: SOCKET, homeId: `${HOME_ID}-other`, logger });
    const { until, sink } = listen();
    const spec = specOf(bash('echo up; sleep 1000'), OPEN);
    const lingering = await runtime.start(spec, sink);
    const ended = await runtime.start(specOf(['true'], OPEN), sink);
    await ended.exited;
    await until('up');
    expect((await runtime.list()).map((found) => ({ id: found.id, running: found.running }))).toEqual(
      expect.arrayContaining([
        { id: lingering.id, running: true },
        { id: ended.id, running: false },
      ]),
    );
    expect((await runtime.list()).find((found) => found.running)?.invocation).toBe(spec.labels[LABELS.invocation]);
    expect(await other.list()).toEqual([]);
    await expect(other.remove(lingering.id)).rejects.toMatchObject({ code: 'internal' });
    await runtime.remove(lingering.id);
    expect(await isGone(lingering)).toBe(true);
    await runtime.remove(lingering.id);
    other.close();
  });
});

describe('the confinement of a container', () => {
  it('is a user without rights, under no-new-privileges and a seccomp filter', async () => {
    const { stdout } = await run(bash('cat /proc/self/status; id -u; id -g; id -G'), OPEN);
    expect(stdout).toMatch(/^CapEff:\t0000000000000000$/m);
    expect(stdout).toMatch(/^CapBnd:\t0000000000000000$/m);
    expect(stdout).toMatch(/^NoNewPrivs:\t1$/m);
    expect(stdout).toMatch(/^Seccomp:\t2$/m);
    expect(stdout).toMatch(/10001\n10001\n10001\n$/);
  });

  it('has a network of nothing but loopback', async () => {
    const { stdout } = await run(bash('ls /sys/class/net; wc -l < /proc/net/route'), OPEN);
    expect(stdout).toBe('lo\n1\n');
  });

  it('leaves /tmp alone writable where the root is read-only', async () => {
    const script = `
      find / -path /proc -prune -o -type d -writable -print 2>/dev/null
      for d in / /dev /dev/shm /dev/mqueue /run /var/tmp /etc /workspace; do touch $d/x 2>/dev/null && echo "wrote $d"; done
      test -e /dev/shm && echo "has shm"
      cp /bin/true /tmp/true && { /tmp/true 2>/dev/null && echo "ran from /tmp"; }
      grep " /tmp " /proc/mounts`;
    const { stdout } = await run(bash(script), CONFINED);
    expect(stdout).toMatch(
      /^\/tmp\ntmpfs \/tmp tmpfs rw,nosuid,nodev,noexec,relatime,size=65536k,nr_inodes=1000[^\n]*\n$/,
    );
  });

  const MESSAGE_QUEUE = [
    'python3',
    '-c',
    'import ctypes; print(ctypes.CDLL("librt.so.1").mq_open(b"/q", 0o102, 0o600, None) >= 0)',
  ];

  it.each([
    { namespace: 'none', limits: CONFINED, made: 'False' },
    { namespace: 'private', limits: OPEN, made: 'True' },
  ])('makes a message queue: $made, where the IPC namespace is $namespace', async ({ limits, made }) => {
    expect((await run(MESSAGE_QUEUE, limits)).stdout).toBe(`${made}\n`);
  });

  it('bounds files, open files and core dumps', async () => {
    const script = 'head -c 5000000 /dev/zero > /tmp/big; stat -c %s /tmp/big; ulimit -n; ulimit -c';
    const { stdout } = await run(bash(script), CONFINED);
    expect(stdout).toBe(`${4 * MIB}\n4096\n0\n`);
  });

  it('bounds processes', async () => {
    const script = `import os, time
made = 0
try:
  while made < 500:
    if os.fork() == 0: time.sleep(60)
    made += 1
except BlockingIOError: pass
print(made)`;
    const made = Number((await run(['python3', '-c', script], CONFINED)).stdout);
    expect(made).toBeGreaterThan(40);
    expect(made).toBeLessThan(64);
  });

  it('mounts what the spec says, as it says', async () => {
    const [ro, rw] = [join(scratch, 'ro'), join(scratch, 'rw')];
    await Promise.all([mkdir(ro, { mode: 0o777 }), mkdir(rw)]);
    await writeFile(join(ro, 'note'), 'hello');
    await chown(rw, 10_001, 10_001);
    const { stdout, stderr } = await run(
      bash('cat /a/note; touch /a/x || echo " refused"; touch /b/x && echo wrote'),
      OPEN,
      [
        { target: '/a', source: ro, readOnly: true },
        { target: '/b', source: rw, readOnly: false },
      ],
    );
    expect(stdout).toBe('hello refused\nwrote\n');
    expect(await readdir(rw)).toEqual(['x']);
    expect(stderr).toContain('Read-only file system');
  });

  const REFUSED = [
    { what: 'an AF_VSOCK socket', call: '41, 40, 1, 0' },
    { what: 'an AF_ALG socket', call: '41, 38, 5, 0' },
    { what: 'an AF_VSOCK socket with high bits set', call: '41, (1 << 32) | 40, 1, 0' },
    { what: 'io_uring', call: '425, 8, ctypes.create_string_buffer(256)' },
    { what: 'userfaultfd', call: '323, 0' },
    { what: 'a keyring', call: '250, 0, -3, 1' },
    { what: 'bpf', call: '321, 0, 0, 0' },
    { what: 'perf', call: '298, 0, 0, 0, 0, 0' },
    { what: 'ptrace', call: '101, 0, 0, 0, 0' },
    { what: 'a user namespace by unshare', call: '272, 0x10000000' },
    { what: 'a user namespace by clone', call: '56, 0x10000011, 0, 0, 0, 0' },
  ];
  const PROBE = (call: string) => `import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
words = [ctypes.c_ulong(word) if isinstance(word, int) else word for word in [${call}]]
print("done" if libc.syscall(*words) >= 0 else errno.errorcode[ctypes.get_errno()])`;

  it.runIf(process.arch === 'x64').each([
    { what: 'an AF_UNIX socket', call: '41, 1, 1, 0' },
    { what: 'an AF_INET socket', call: '41, 2, 1, 0' },
    { what: 'the question for its personality', call: '135, 0xffffffff' },
  ])('grants $what', async ({ call }) => {
    expect((await run(['python3', '-c', PROBE(call)], OPEN)).stdout).toBe('done\n');
  });

  it.runIf(process.arch === 'x64').each(REFUSED)('refuses $what', async ({ call }) => {
    expect((await run(['python3', '-c', PROBE(call)], OPEN)).stdout).toBe('EPERM\n');
  });

  it.runIf(process.arch === 'x64')('answers clone3 with ENOSYS, so that libraries fall back', async () => {
    expect((await run(['python3', '-c', PROBE('435, 0, 0')], OPEN)).stdout).toBe('ENOSYS\n');
  });

  it('lets the tools of an agent run', async () => {
    const script = `set -e; cd /tmp; export HOME=/tmp
      node -e 'new (require("worker_threads").Worker)("0", { eval: true }); require("child_process").execSync("true"); console.log(Object.keys(os.networkInterfaces()).join())'
      npm --version >/dev/null
      git init -q r; cd r; echo a > a; git add a; git -c user.email=a@b -c user.name=n commit -qm m; git clone -q . ../s; ls ../s
      sqlite3 x.db "pragma journal_mode=wal; create table t(x); insert into t values (42); select * from t"
      rg -l a . | sort | head -1
      python3 -c 'import multiprocessing as m, ssl; print(m.get_context("fork").Pool(2).map(abs, [-1, -2]))'`;
    const { stdout, stderr, exit } = await run(bash(script), OPEN);
    expect({ stdout, stderr, code: exit.exitCode }).toEqual({
      stdout: 'lo\na\nwal\n42\n./a\n[1, 2]\n',
      stderr: '',
      code: 0,
    });
  });
});

describe('a connection to the engine that breaks', () => {
  /** A socket that leads to the engine until it is cut. */
  const proxy = async () => {
    const path = join(scratch, `${randomBytes(4).toString('hex')}.sock`);
    const open = new Set<Socket>();
    const server = createServer((near) => {
      const far = connect(SOCKET);
      for (const socket of [near, far]) {
        open.add(socket);
        socket.on('error', () => undefined);
        socket.on('close', () => {
          near.destroy();
          far.destroy();
        });
      }
      near.pipe(far).pipe(near);
    });
    await new Promise<void>((ready) => server.listen(path, ready));
    const cut = () => {
      for (const socket of open) socket.destroy();
    };
    const close = () => {
      server.close();
      cut();
    };
    return { path, cut, close };
  };
  /** Exits 9 when stdin ends, and survives everything else. */
  const runner = bash('echo up; while read -r line; do echo "$line"; done; exit 9');

  it('is stdin’s end to the container; its exit is learned once the engine is back, as the engine’s doing', async () => {
    const way = await proxy();
    const remote = createDockerRuntime({ socketPath: way.path, homeId: HOME_ID, logger });
    const { until, sink } = listen();
    const container = await remote.start(specOf(runner, OPEN), sink);
    await until('up');
    way.cut();
    expect(await within(10_000, container.exited)).toEqual({ exitCode: 9, oomKilled: false, engineLost: true });
    await container.remove(0);
    remote.close();
    way.close();
  });

  it('is told as a lost engine when it doesn’t come back', { timeout: 60_000 }, async () => {
    const way = await proxy();
    const remote = createDockerRuntime({ socketPath: way.path, homeId: HOME_ID, logger });
    const { until, sink } = listen();
    const container = await remote.start(specOf(runner, OPEN), sink);
    await until('up');
    way.close();
    expect(await within(30_000, container.exited)).toMatchObject({ engineLost: true });
    await expect(remote.check()).rejects.toMatchObject({ code: 'engine', hint: './scripts/engine.sh' });
    remote.close();
  });

  it('is what a supervisor’s death looks like: the container ends by itself', async () => {
    const dying = createDockerRuntime({ socketPath: SOCKET, homeId: HOME_ID, logger });
    const { until, sink } = listen();
    const container = await dying.start(specOf(runner, OPEN), sink);
    await until('up');
    dying.close();
    await container.exited;
    const ended = async () => (await engine.quick.getContainer(container.id).inspect()).State;
    while ((await ended()).Running) await new Promise((wake) => setTimeout(wake, 50));
    expect((await ended()).ExitCode).toBe(9);
  });
});
