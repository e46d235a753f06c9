/** Writers that want the whole disk: each is ended with the right reason, soon, and what it overshot by is printed. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { measureTree } from '../../src/files/measure.ts';
import { type Conversation, type Installation, install } from './installation.ts';
import { LAG_MS_MAX, measureLag } from './loop-lag.ts';

const MIB = 1024 * 1024;
const QUOTA_MB = 64;
const NO_CAPS = '{ requestsPerMinute: 10000, tokensPerDay: 1000000000, usdPerDay: null }';
const QUOTAS = `{ mountBytes: ${QUOTA_MB * MIB}, mountFiles: 2000, rootBytes: ${QUOTA_MB * MIB}, rootFiles: 3000 }`;

const AuditLine = z.looseObject({
  kind: z.string(),
  place: z.string().optional(),
  unit: z.string().optional(),
  measured: z.number().optional(),
  allowed: z.number().optional(),
});

let installation: Installation;
beforeAll(async () => {
  installation = await install({
    config: [
      'turns: { concurrent: 4 }',
      `caps: { main: ${NO_CAPS}, trusted: ${NO_CAPS}, untrusted: ${NO_CAPS} }`,
      `quotas: { tiers: { trusted: ${QUOTAS} } }`,
    ].join('\n'),
  });
});
afterAll(() => installation?.close());

const groupDirectory = (folder: string): string => join(installation.home.groups, folder);

beforeEach(() => {
  const { uid, gid } = { uid: 10_001, gid: 10_001 };
  for (const name of ['flood', 'heap']) rmSync(join(groupDirectory('friends'), name), { recursive: true, force: true });
  mkdirSync(join(groupDirectory('friends'), 'flood'), { recursive: true });
  execFileSync('chown', [`${uid}:${gid}`, join(groupDirectory('friends'), 'flood')]);
});

const excesses = () =>
  readFileSync(installation.home.auditFile, 'utf8')
    .split('\n')
    .filter((line) => line.includes('quota-exceeded'))
    .map((line) => AuditLine.parse(JSON.parse(line)));

const sizeOf = (directory: string): number => {
  const walk = measureTree(directory, { bytes: null, files: null }, 0);
  let step = walk.next();
  while (step.done !== true) step = walk.next();
  return step.value.bytes;
};

/** The turn, and that nothing of it is left; the event loop was free all the while. */
const flood = async (folder: string, command: string): Promise<Conversation> => {
  const { result, lagMs } = await measureLag(() => installation.say(folder, `run: ${command}`));
  await expect.poll(installation.containers, { timeout: 20_000 }).toEqual([]);
  expect(lagMs).toBeLessThan(3 * LAG_MS_MAX);
  return result;
};

/** As fast as one process can, into files that are each as large as a file may be; TERM doesn't stop it. */
const WRITER = `python3 -c '
import signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
block = bytes(4 * 2**20)
i = 0
while True:
  i += 1
  try:
    with open("DIR/f%d" % i, "wb", buffering=0) as file:
      for _ in range(15): file.write(block)
  except OSError: pass'`;
const AFTERWARDS = 'sleep 60; echo survived';

describe('a turn that writes without end', () => {
  it('into its group’s directory is ended; the overshoot is bounded', async () => {
    const directory = join(groupDirectory('friends'), 'flood');
    const { done, messages } = await flood('friends', WRITER.replaceAll('DIR', '/workspace/group/flood'));
    expect(done.reason).toBe('disk');
    expect(done.detail).toMatch(/\/workspace\/group holds .* MB; 64\.0 MB are allowed/);
    expect(messages.join()).toContain('it wrote more than a turn may write');
    const last = excesses().at(-1);
    expect(last).toMatchObject({ place: '/workspace/group', unit: 'bytes', allowed: QUOTA_MB * MIB });
    expect(last?.measured).toBeGreaterThan(QUOTA_MB * MIB);
    const overshoot = sizeOf(directory) / MIB - QUOTA_MB;
    process.stdout.write(
      `a fast writer was ${overshoot.toFixed(0)} MB beyond its ${QUOTA_MB} MB when its turn had ended\n`,
    );
    expect(overshoot).toBeLessThan(4096);
  });

  it('into its root layer is ended', async () => {
    const { done } = await flood('friends', WRITER.replaceAll('DIR', '/tmp'));
    expect(done.reason).toBe('disk');
    expect(excesses().at(-1)).toMatchObject({ place: '/', unit: 'bytes' });
  });

  it('into messages/ as a stranger is ended', async () => {
    const { done } = await flood('lobby', WRITER.replaceAll('DIR', '/workspace/ipc/messages'));
    expect(done.reason).toBe('disk');
    expect(excesses().at(-1)).toMatchObject({ place: '/workspace/ipc/messages', unit: 'bytes' });
  });

  it('files into a deep directory of messages/, where no entry is too much, is ended', async () => {
    const make = `cd /workspace/ipc/messages && python3 -c '
import os
os.makedirs("a/b/c")
for i in range(6000): open("a/b/c/f%d" % i, "w").close()' && ${AFTERWARDS}`;
    const { done } = await flood('lobby', make);
    expect(done.reason).toBe('disk');
    expect(excesses().at(-1)).toMatchObject({ place: '/workspace/ipc/messages', unit: 'files', allowed: 2000 });
  });

  it.each([
    ['lobby', '/workspace/ipc/messages'],
    ['friends', '/workspace/group/flood'],
  ])('in %s into files that it has deleted is ended', async (folder, directory) => {
    const hide = `cd ${directory} && python3 -c '
import os, time
held = []
block = bytes(2**20)
for i in range(40):
  file = open("f%d" % i, "wb"); os.unlink("f%d" % i); held.append(file)
  for j in range(30): file.write(block)
time.sleep(60)'; echo survived`;
    const { done } = await flood(folder, hide);
    expect(done.reason).toBe('disk');
    expect(excesses().at(-1)?.place).toContain('deleted');
  });

  it('into files that it has deleted, by a thread that has outlived its process’s first one, is ended', async () => {
    const hide = `cd /workspace/group/flood && python3 -c '
import ctypes, os, threading, time
def fill():
  time.sleep(1)
  held = []
  for i in range(10):
    file = open("f%d" % i, "wb"); os.unlink("f%d" % i); held.append(file)
    for j in range(30): file.write(bytes(2**20))
  time.sleep(20)
threading.Thread(target=fill).start()
ctypes.CDLL(None).syscall(60, 0)'; echo survived`;
    const { done } = await flood('friends', hide);
    expect(done.reason).toBe('disk');
    expect(excesses().at(-1)?.place).toContain('deleted');
  });
});

describe('a turn within its quota', () => {
  it('may have sparse files and many names for one file', async () => {
    const { done } = await flood(
      'friends',
      'cd /workspace/group/flood && for i in 1 2 3 4 5; do truncate -s 60M sparse$i; done; dd if=/dev/zero of=a bs=1M count=20 2>/dev/null; for i in 1 2 3 4 5 6; do ln a a$i; done; sleep 4; echo fine',
    );
    expect(done.reason).toBe('completed');
    expect(done.reply).toContain('fine');
  });

  it('is measured without being disturbed by a tree that changes all the time', async () => {
    const churn = `cd /workspace/group/flood && python3 -c '
import os, shutil, time
end = time.time() + 4
while time.time() < end:
  os.makedirs("a/" + "b/" * 50)
  open("a/b/x", "w").write("x" * 9999)
  os.rename("a", "c")
  shutil.rmtree("c")'; echo fine`;
    const { done } = await flood('friends', churn);
    expect(done.reason).toBe('completed');
  });
});

describe('a directory that is too full before a turn', () => {
  const fill = (mb: number): void => {
    mkdirSync(join(groupDirectory('friends'), 'heap'), { recursive: true });
    writeFileSync(join(groupDirectory('friends'), 'heap', 'big'), Buffer.alloc(mb * MIB, 1));
    execFileSync('chown', ['-R', '10001:10001', join(groupDirectory('friends'), 'heap')]);
  };

  it('can be cleared up by its agent', async () => {
    fill(QUOTA_MB + 20);
    const { done } = await flood('friends', 'sleep 3; rm -r /workspace/group/heap && echo cleared');
    expect(done.reply).toContain('cleared');
  });

  it('must not grow', async () => {
    fill(QUOTA_MB + 20);
    const { done } = await flood(
      'friends',
      `dd if=/dev/zero of=/workspace/group/flood/f bs=1M count=30; ${AFTERWARDS}`,
    );
    expect(done.reason).toBe('disk');
  });

  it('is opened to nobody when it is twice too full, until there is room', async () => {
    fill(2 * QUOTA_MB + 10);
    const { done, messages } = await flood('friends', AFTERWARDS);
    expect(done.reason).toBe('disk');
    expect(done.detail).toContain('make room in');
    expect(messages.join()).toContain('the operator has to make some');
    rmSync(join(groupDirectory('friends'), 'heap'), { recursive: true });
    expect((await flood('friends', 'echo room')).reply).toContain('room');
  });

  it('is no matter of other groups', async () => {
    fill(2 * QUOTA_MB + 10);
    expect((await flood('lobby', 'echo served')).reply).toContain('served');
    expect((await flood('main', 'echo served')).reply).toContain('served');
  });
});
