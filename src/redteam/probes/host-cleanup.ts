/** What a turn leaves behind for the host to clean up. */
import { chmod, readdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { EVERY_TIER } from '../../domain/tiers.ts';
import type { Home } from '../../home.ts';
import { attack, createJudge, judgeGround } from '../host/attack.ts';
import { layOut } from '../host/ground.ts';
import { naive } from '../host/naive.ts';
import { literal } from '../host/script.ts';
import { type HostProbe, held, reached } from '../probe.ts';

const DEADLINE_MS = 30_000;

/** What is still waiting for its deletion. */
const leftovers = async (home: Home, invocation: string): Promise<readonly string[]> => {
  const end = performance.now() + DEADLINE_MS;
  for (;;) {
    const names = (await readdir(home.trash)).filter((name) => name.startsWith(invocation));
    if (names.length === 0 || performance.now() > end) return names;
    await sleep(100);
  }
};

export const hostCleanup: HostProbe = {
  kind: 'host',
  id: 'host-cleanup',
  topic: 'messages',
  tries:
    'to have the host delete, chmod or chown outside, or hang, when it clears away links, a tree 1,000 deep, and directories closed to it',
  why: 'a turn’s directories are renamed into the trash and deleted by rm in a child process, which removes links and never follows one',
  expected: { runc: EVERY_TIER },
  control: naive(async (ground) => {
    const path = join(ground.outside, 'tree', 'planted');
    await symlink(ground.secretFile, path);
    await chmod(path, 0o777);
    return (await ground.changed()).includes(ground.secretFile)
      ? reached('chmod went through the link')
      : held('nothing changed');
  }),
  attempt: async (arena) => {
    const ground = await layOut(arena);
    const script = `
outside = ${literal(ground.outside)}
root = IPC if len(BOXES) > 1 else BOX
os.mkdir(root + "/.links")
for n, target in enumerate([outside, outside + "/tree", outside + "/secret.json", "/", "..", "/etc/passwd"]): os.symlink(target, root + "/.links/l%d" % n)
os.makedirs(root + "/.closed/in")
os.symlink(outside, root + "/.closed/in/link")
os.chmod(root + "/.closed/in", 0); os.chmod(root + "/.closed", 0)
os.mkdir(root + "/.deep"); os.chdir(root + "/.deep")
for _ in range(1000): os.mkdir("d"); os.chdir("d")
tell("left")`;
    const judge = createJudge();
    const made = await attack(arena, { ground, script });
    judge.needs(made.acts.length === 1, `nothing was left: ${made.turn.reply.slice(-200)}`);
    const left = await leftovers(arena.home, made.turn.invocation);
    judge.breach(left.length > 0, `still there after ${DEADLINE_MS} ms: ${left.join(', ')}`);
    await judgeGround(judge, arena, made);
    return judge.verdict('all of it is gone, and nothing outside was touched');
  },
};
