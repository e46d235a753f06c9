/** One request, handed in many times. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { attack, createJudge, judgeGround } from '../host/attack.ts';
import { type HostProbe, noControl } from '../probe.ts';

export const hostRequestReplay: HostProbe = {
  kind: 'host',
  id: 'host-request-replay',
  topic: 'messages',
  tries: 'to have one request carried out many times, under many file names and again under its own',
  why: 'each id is carried out once per turn; a second file with it is refused and on record',
  expected: { runc: EVERY_TIER },
  control: noControl('whatever takes in files without a memory carries each out: there is nothing to show'),
  attempt: async (arena) => {
    const judge = createJudge();
    const made = await attack(arena, {
      script: `
for number in range(10): put(BOX + "/n%d.json" % number, json.dumps({"type": "message", "id": "once", "text": "once and only once"}))
answer("once")
put(BOX + "/once.json", json.dumps({"type": "message", "id": "once", "text": "once and only once"}))
time.sleep(1.5)
tell("replayed")`,
    });
    const times = made.turn.messages.filter((text) => text.includes('once and only once')).length;
    judge.needs(times > 0, `the request was never carried out: ${made.turn.reply.slice(-200)}`);
    judge.breach(times > 1, `carried out ${times} times`);
    judge.breach(!made.audit.some(({ kind }) => kind === 'ipc-duplicate'), 'nothing on record');
    await judgeGround(judge, arena, made);
    return judge.verdict('carried out once of eleven times, the others on record');
  },
};
