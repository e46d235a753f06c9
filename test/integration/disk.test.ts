import { mkdtemp, readdir, rm, unlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createFaultTable } from './fault-table.ts';
import { type Installation, install } from './installation.ts';

const MIB = 1024 * 1024;

describe('a disk that is full', () => {
  const faults = createFaultTable('Faults: disk');
  let directory: string;
  let installation: Installation;
  const ballast = () => join(directory, 'home', 'ballast');

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'tierclaw-disk-'));
    await execa('mount', ['-t', 'tmpfs', '-o', `size=${48 * MIB}`, 'tmpfs', directory]);
    installation = await install({ directory: join(directory, 'home') });
  });
  afterAll(async () => {
    await installation?.close();
    await execa('umount', ['-l', directory], { reject: false });
    await rm(directory, { recursive: true, force: true });
    faults.print();
  });

  /** Fills what is left, to the last page. */
  const fill = async (): Promise<void> => {
    await execa('sh', ['-c', 'cat /dev/zero > "$1"', 'sh', ballast()], { reject: false });
  };

  it('before a message comes in: it is refused or kept, the supervisor stays, and all is well once there is room', async () => {
    await fill();
    const full = await installation.say('lobby', 'run: echo full').then(
      ({ done }) => done.reason,
      (thrown: unknown) => `refused: ${(thrown as Error).message}`,
    );
    expect(full).not.toBe('completed');
    await unlink(ballast());
    const { reply } = await installation.say('lobby', 'run: echo room again');
    expect(reply).toContain('room again');
    faults.note({
      step: 'receive',
      broken: 'disk full',
      happened: `${full.slice(0, 60)}; answered once there was room`,
    });
  });

  it('in the middle of a turn: the turn ends with a reason, nothing is left, and the next is answered', async () => {
    // What is filled before the turn has begun keeps it from beginning.
    await expect.poll(installation.containers, { timeout: 10_000 }).toEqual([]);
    const turn = installation.say('lobby', 'run: sleep 2; echo meanwhile full');
    await expect.poll(() => installation.containers().then((all) => all.length), { timeout: 10_000 }).toBe(1);
    await fill();
    const { done } = await turn;
    await unlink(ballast());
    await expect.poll(installation.containers, { timeout: 10_000 }).toEqual([]);
    expect((await installation.say('friends', 'run: echo next')).reply).toContain('next');
    const { turns, sockets } = installation.home;
    const left = async () => (await Promise.all([turns, sockets].map((path) => readdir(path)))).flat();
    await expect.poll(left, { timeout: 10_000 }).toEqual([]);
    faults.note({
      step: 'running',
      broken: 'disk full',
      happened: `turn ended: ${done.reason}; the next was answered`,
    });
  });
});
