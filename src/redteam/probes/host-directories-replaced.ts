/** The directories that the host uses, replaced by links. */
import { symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { EVERY_TIER } from '../../domain/tiers.ts';
import { attack, createJudge, judgeGround } from '../host/attack.ts';
import { layOut } from '../host/ground.ts';
import { naive } from '../host/naive.ts';
import { literal } from '../host/script.ts';
import { type HostProbe, held, reached } from '../probe.ts';

export const hostDirectoriesReplaced: HostProbe = {
  kind: 'host',
  id: 'host-directories-replaced',
  topic: 'messages',
  tries:
    'to lead the host elsewhere by replacing messages/, tasks/, input/ and directories beneath the group by links, in this turn and the next',
  why: 'the host holds these directories by descriptor from their making; each turn has new ones, and none is opened through a link',
  expected: { runc: EVERY_TIER },
  control: naive(async (ground) => {
    const path = join(ground.outside, 'input');
    await symlink(join(ground.outside, 'tree'), path);
    await writeFile(join(path, 'deep.txt'), 'an answer');
    return (await ground.changed()).length > 0 ? reached('writeFile went through the link') : held('nothing changed');
  }),
  attempt: async (arena) => {
    const ground = await layOut(arena);
    // Some of these directories are shared with other tiers, whose probes run at the same time.
    const own = literal(`of-${arena.attacker.folder}`);
    const script = `
tree = ${literal(join(ground.outside, 'tree'))}
own = ${own}
def replace(path):
    if os.path.lexists(path): os.rename(path, path + ".old")
    os.symlink(tree, path)
for name in ("messages", "tasks", "input", "logs"): attempt("ipc/" + name, lambda: replace(IPC + "/" + name))
for name in ("logs", "tasks", "inbox", "conversations", ".git"): attempt("group/" + name, lambda: replace("/workspace/group/" + name))
for place in ("/workspace/agent", "/workspace/trusted", "/workspace/global"): attempt(place, lambda: replace(place + "/" + own))
for box in (BOX, BOX + ".old"):
    try: put(box + "/on.json", json.dumps({"type": "message", "id": "on", "text": "from the original"}))
    except OSError: pass
tell("end", written=[d for d in ("messages.old", "input.old") if os.path.isdir(IPC + "/" + d)])
time.sleep(1)`;
    const undo = `
import shutil
for place in ("/workspace/group", "/workspace/agent", "/workspace/trusted", "/workspace/global"):
    for name in ("logs", "tasks", "inbox", "conversations", ".git", ${own}):
        path = place + "/" + name
        try:
            if os.path.islink(path): os.unlink(path)
            if os.path.lexists(path + ".old"): os.rename(path + ".old", path)
        except OSError: pass
tell("undone")`;
    const judge = createJudge();
    const made = await attack(arena, { ground, script });
    judge.needs(
      made.acts.some(({ act }) => act === 'end'),
      `the turn ended with ${made.turn.reason}: ${made.turn.reply.slice(-200)}`,
    );
    judge.breach(!made.turn.messages.includes('from the original'), 'the host lost the directory that it had made');
    const next = await attack(arena, { ground, script: undo });
    judge.needs(next.acts.length === 1, `the next turn ended with ${next.turn.reason} ${next.turn.detail}`);
    await judgeGround(judge, arena, made);
    return judge.verdict(
      `${made.acts.filter(({ done }) => done !== undefined || done === null).length} replaced, nothing outside was touched, and the next turn came`,
    );
  },
};
