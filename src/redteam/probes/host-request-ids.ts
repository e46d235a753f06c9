/** A request whose id is a path. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { EVERY_TIER } from '../../domain/tiers.ts';
import { attack, createJudge, judgeGround } from '../host/attack.ts';
import { layOut } from '../host/ground.ts';
import { naive } from '../host/naive.ts';
import { literal } from '../host/script.ts';
import { type HostProbe, held, reached } from '../probe.ts';

export const hostRequestIds: HostProbe = {
  kind: 'host',
  id: 'host-request-ids',
  topic: 'messages',
  tries: 'to have the host write its answer over a file of its own: the id of a request names the answer’s file',
  why: 'an id is 1 to 64 letters, digits, dashes and underscores; anything else is no request',
  expected: { runc: EVERY_TIER },
  control: naive(async ({ outside, secretFile, canary }) => {
    const id = '../secret';
    await writeFile(join(outside, 'tree', `${id}.json`), '{"ok":true}');
    const isOver = !(await readFile(secretFile, 'utf8')).includes(canary);
    return isOver ? reached('the answer to "../secret" replaced a file outside') : held('nothing was replaced');
  }),
  attempt: async (arena) => {
    const ground = await layOut(arena);
    const secret = ground.secretFile.replace(/\.json$/, '');
    const ids = [
      '../messages/y',
      `../../../../../../..${secret}`,
      secret,
      '.',
      '',
      'a/b',
      'a\0b',
      'x'.repeat(65),
      '*',
      'ü',
    ];
    const script = `
ids = ${literal(ids)} + [7, None, ["a"], {"a": 1}]
for number, id in enumerate(ids): put(BOX + "/i%d.json" % number, json.dumps({"type": "message", "id": id, "text": "x"}))
for number, id in enumerate(ids): tell("id", sent=repr(id), answer=answer("i%d" % number))
for path in (BOX + "/y.json", IPC + "/y.json"): tell("escaped", found=os.path.exists(path))`;
    const judge = createJudge();
    const made = await attack(arena, { ground, script });
    const answered = made.acts.filter(({ answer }) => answer !== undefined && answer !== null);
    judge.needs(
      answered.length === ids.length + 4,
      `${answered.length} of ${ids.length + 4} answered: ${made.turn.reply.slice(-200)}`,
    );
    for (const act of made.acts) judge.breach(act.answer?.ok === true || act.found === true, JSON.stringify(act));
    await judgeGround(judge, arena, made);
    return judge.verdict(`${answered.length} ids refused, and nothing was written beside the answers`);
  },
};
