/** Links where the host is about to write. */
import { symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { EVERY_TIER } from '../../domain/tiers.ts';
import { attack, createJudge, judgeGround } from '../host/attack.ts';
import { layOut } from '../host/ground.ts';
import { naive } from '../host/naive.ts';
import { literal } from '../host/script.ts';
import { type HostProbe, held, reached } from '../probe.ts';

export const hostAnswerLinks: HostProbe = {
  kind: 'host',
  id: 'host-answer-links',
  topic: 'messages',
  tries:
    'to have the host write its answers and snapshots through links, FIFOs and directories planted under their names',
  why: 'an answer is written under a new name with O_EXCL and O_NOFOLLOW and renamed into place; outsiders can’t write input/ at all',
  expected: { runc: EVERY_TIER },
  control: naive(async (ground) => {
    const path = join(ground.outside, 'tree', 'answer.json');
    await symlink(ground.secretFile, path);
    await writeFile(path, '{"ok":true}');
    const changed = await ground.changed();
    return changed.includes(ground.secretFile) ? reached('writeFile wrote through the link') : held('nothing changed');
  }),
  attempt: async (arena) => {
    const ground = await layOut(arena);
    const script = `
secret, outside = ${literal(ground.secretFile)}, ${literal(ground.outside)}
places = {"link": lambda p: os.symlink(secret, p), "fifo": os.mkfifo, "directory": os.mkdir, "full": lambda p: os.makedirs(p + "/a"),
          "new": lambda p: os.symlink(outside + "/tree/new", p)}
for name, make in places.items():
    attempt("plant-" + name, lambda: make(IPC + "/input/" + name + ".json"))
    put(BOX + "/" + name + ".json", json.dumps({"type": "message", "id": name, "text": "answered?"}))
attempt("snapshot", lambda: (os.unlink(IPC + "/available_groups.json"), os.symlink(secret, IPC + "/available_groups.json")))
put(BOX + "/last.json", json.dumps({"type": "message", "id": "last", "text": "answered?"}))
tell("last", answer=answer("last"))`;
    const judge = createJudge();
    const made = await attack(arena, { ground, script });
    judge.needs(
      made.acts.some(({ act, answer }) => act === 'last' && answer?.ok === true),
      `no answer: ${made.turn.reply.slice(-200)}`,
    );
    const next = await attack(arena, { ground, script: 'tell("next")' });
    judge.needs(next.acts.length === 1, `the next turn ended with ${next.turn.reason}`);
    await judgeGround(judge, arena, made);
    return judge.verdict(
      `${made.acts.filter(({ done }) => done !== undefined).length} places planted; nothing outside was written, and answers went on`,
    );
  },
};
