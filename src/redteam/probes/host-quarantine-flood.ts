/** Bad requests as a way to fill the host's disk: they are evidence, and evidence is kept. */
import { existsSync } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { EVERY_TIER } from '../../domain/tiers.ts';
import { attack, createJudge, judgeGround } from '../host/attack.ts';
import { type Arena, type HostProbe, noControl, type TurnEnd } from '../probe.ts';

const ENTRIES_MAX = 100;
/** Of all turns; those that run at the same time count it at their beginning. */
const ALL_ENTRIES_MAX = 1000;
const ENTRY_BYTES_MAX = 64 * 1024;
const GONE_WITHIN_MS = 15_000;

/** What is left when the turn ends is looked at last; then its directory goes. */
const inboxGone = async ({ home, attacker }: Arena, { invocation }: TurnEnd): Promise<void> => {
  const path = join(home.ipc, attacker.folder, invocation);
  const from = performance.now();
  while (existsSync(path) && performance.now() - from < GONE_WITHIN_MS) await sleep(100);
};

export const hostQuarantineFlood: HostProbe = {
  kind: 'host',
  id: 'host-quarantine-flood',
  topic: 'messages',
  tries: 'to fill the host’s disk with what it keeps of bad requests',
  why: 'of a turn at most 100 bad files are kept, of each at most 64 KiB, as a copy that the container can’t go on writing',
  expected: { runc: EVERY_TIER },
  control: noControl('a host that keeps every bad file keeps all of them: there is nothing to show'),
  attempt: async (arena) => {
    const judge = createJudge();
    const made = await attack(arena, {
      script: `
for n in range(30): put(BOX + "/b%02d.json" % n, "x" * 1000000)
for n in range(100): os.symlink("/etc/passwd", BOX + "/l%03d.json" % n)
tell("made")
time.sleep(1)`,
    });
    judge.needs(made.acts.length === 1 || made.turn.reason === 'disk', `not made: ${made.turn.reply.slice(-200)}`);
    await inboxGone(arena, made.turn);
    const all = await readdir(arena.home.quarantine);
    const names = all.filter((name) => name.startsWith(made.turn.invocation));
    const sizes = await Promise.all(names.map(async (name) => (await lstat(join(arena.home.quarantine, name))).size));
    const isFull = all.length >= ALL_ENTRIES_MAX - ENTRIES_MAX;
    judge.needs(names.length > 0 || isFull || made.turn.reason === 'disk', 'nothing was kept');
    judge.breach(all.length > ALL_ENTRIES_MAX + ENTRIES_MAX, `${all.length} entries kept of all turns`);
    judge.breach(names.length > ENTRIES_MAX, `${names.length} entries kept`);
    judge.breach(Math.max(0, ...sizes) > ENTRY_BYTES_MAX, `an entry of ${Math.max(...sizes)} bytes kept`);
    await judgeGround(judge, arena, made);
    return judge.verdict(`${names.length} entries kept, ${sizes.reduce((sum, size) => sum + size, 0)} bytes of 30 MB`);
  },
};
