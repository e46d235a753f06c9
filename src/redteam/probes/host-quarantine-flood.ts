/** Bad requests as a way to fill the host's disk: they are evidence, and evidence is kept. */
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { EVERY_TIER } from '../../domain/tiers.ts';
import { attack, createJudge, judgeGround } from '../host/attack.ts';
import { type HostProbe, noControl } from '../probe.ts';

const ENTRIES_MAX = 100;
const ENTRY_BYTES_MAX = 64 * 1024;

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
    const names = (await readdir(arena.home.quarantine)).filter((name) => name.startsWith(made.turn.invocation));
    const sizes = await Promise.all(names.map(async (name) => (await lstat(join(arena.home.quarantine, name))).size));
    judge.needs(names.length > 0 || made.turn.reason === 'disk', 'nothing was kept');
    judge.breach(names.length > ENTRIES_MAX, `${names.length} entries kept`);
    judge.breach(Math.max(0, ...sizes) > ENTRY_BYTES_MAX, `an entry of ${Math.max(...sizes)} bytes kept`);
    await judgeGround(judge, arena, made);
    return judge.verdict(`${names.length} entries kept, ${sizes.reduce((sum, size) => sum + size, 0)} bytes of 30 MB`);
  },
};
