/** A disk that is nearly full: no turn starts, messages wait, whoever filled it ends, and all goes on once there is room. */
import { mkdtemp, rm, unlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ChatEvent } from '../../src/ops/control-protocol.ts';
import { type Installation, install } from './installation.ts';

const MIB = 1024 * 1024;
const DISK_MB = 400;
const FLOOR_MB = 120;
const NO_CAPS = '{ requestsPerMinute: 10000, tokensPerDay: 1000000000, usdPerDay: null }';

let directory: string;
let installation: Installation;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'tierclaw-floor-'));
  await execa('mount', ['-t', 'tmpfs', '-o', `size=${DISK_MB}m`, 'tmpfs', directory]);
  installation = await install({
    directory: join(directory, 'home'),
    config: `turns: { concurrent: 4 }\ncaps: { main: ${NO_CAPS}, trusted: ${NO_CAPS}, untrusted: ${NO_CAPS} }\ndisk: { floorBytes: ${FLOOR_MB * MIB} }\n`,
  });
});
afterAll(async () => {
  await installation?.close();
  await execa('umount', ['-l', directory], { reject: false });
  await rm(directory, { recursive: true, force: true });
});

const ballast = (): string => join(directory, 'home', 'ballast');
const fillTo = (freeMb: number): Promise<unknown> =>
  execa('sh', [
    '-c',
    `free=$(($(stat -f -c '%a*%S' '${directory}')/1048576)); dd if=/dev/zero of='${ballast()}' bs=1M count=$((free - ${freeMb}))`,
  ]);
const makeRoom = () => unlink(ballast()).catch(() => undefined);
const low = () => installation.app.supervisor.status().lowDisks ?? [];
beforeEach(async () => {
  await makeRoom();
  await expect.poll(low, { timeout: 10_000 }).toEqual([]);
});

describe('below the floor', () => {
  it('no turn starts; the chat is told once, the operator sees why, and the messages are answered later', async () => {
    await fillTo(FLOOR_MB - 20);
    await expect.poll(low, { timeout: 10_000 }).toHaveLength(1);
    expect(low()[0]).toMatch(/MB free; turns need 120 MB/);
    const [first, second] = [0, 1].map(() => ({ events: [] as ChatEvent[] }));
    const talks = [first, second].map(async (talk, at) => {
      for await (const event of installation.events('friends', `run: echo answered ${at}`)) talk?.events.push(event);
    });
    const heard = () => JSON.stringify([first?.events, second?.events]);
    await expect.poll(heard, { timeout: 10_000 }).toContain('nearly full');
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    expect(await installation.containers()).toEqual([]);
    expect(heard()).not.toContain('answered 0\\n');
    const notices = (first?.events ?? []).filter((event) => event.kind === 'message' && /nearly full/.test(event.text));
    expect(notices).toHaveLength(1);
    await makeRoom();
    await Promise.all(talks);
    expect(heard()).toContain('answered 0');
    expect(heard()).toContain('answered 1');
  });

  it('the turn that fills the disk ends, another that only works goes on', async () => {
    const innocent = installation.say('main', 'run: sleep 6; echo innocent');
    await expect.poll(() => installation.containers().then((all) => all.length), { timeout: 10_000 }).toBe(1);
    const hog = await installation.say(
      'friends',
      `run: python3 -c '
block = bytes(2**20)
import time
with open("/workspace/group/hog", "wb") as file:
  while True:
    try: file.write(block); file.flush(); time.sleep(0.004)
    except OSError: time.sleep(0.01)'`,
    );
    expect(hog.done.reason).toBe('disk');
    expect(hog.done.detail).toContain('nearly full');
    await rm(join(installation.home.groups, 'friends', 'hog'), { force: true });
    expect((await innocent).reply).toContain('innocent');
  });
});
