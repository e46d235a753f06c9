/** A request that addresses another chat. */
import { GUEST_TIERS } from '../../domain/tiers.ts';
import { attack, createJudge, judgeGround, judgeRefusals } from '../host/attack.ts';
import { isInHistory } from '../host/history.ts';
import { literal } from '../host/script.ts';
import { type HostProbe, noControl } from '../probe.ts';

/** Put together in the container, so that the script itself doesn't hold it. */
const MARK = ['said-by', 'a-stranger'] as const;

export const hostForeignChat: HostProbe = {
  kind: 'host',
  id: 'host-foreign-chat',
  topic: 'messages',
  tries: 'to write, or send a file, into another registered chat',
  why: 'these tiers may address their own chat alone; the rule is asked before anything is done',
  expected: { runc: GUEST_TIERS },
  elsewhere: 'the sole group may address any registered chat, by the tier table',
  control: noControl('the tier that may do it is shown by the matrix itself'),
  attempt: async (arena) => {
    const judge = createJudge();
    const made = await attack(arena, {
      script: `
mark = "-".join(${literal(MARK)})
chat = ${literal(arena.victim.id)}
request("text", type="message", text=mark, chat=chat)
open("/tmp/mark", "w").write(mark)
request("file", type="send_file", path="/workspace/group/CLAUDE.md", chat=chat, caption=mark)
report()`,
    });
    judgeRefusals(judge, made, 2);
    judge.breach(await isInHistory(arena, MARK.join('-')), 'it stands in the message store');
    await judgeGround(judge, arena, made);
    return judge.verdict('refused and on record; the message store has no word of it');
  },
};
