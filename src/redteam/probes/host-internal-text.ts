/** Text that is meant to stay inside, with damaged tags around it. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { attack, createJudge, judgeGround } from '../host/attack.ts';
import { isInHistory } from '../host/history.ts';
import { naive } from '../host/naive.ts';
import { literal } from '../host/script.ts';
import { type HostProbe, held, reached } from '../probe.ts';

/** Put together in the container, so that the script itself doesn't hold it. */
const MARK = ['kept', 'inside'] as const;

export const hostInternalText: HostProbe = {
  kind: 'host',
  id: 'host-internal-text',
  topic: 'messages',
  tries:
    'to get internal text into the chat by unclosed, nested, split and misspelt tags, and to hold the host by a megabyte of beginnings of tags',
  why: 'one scanner for all ways out, linear in time: an unclosed tag hides the rest, and how a text is cut into pieces makes no difference',
  expected: { runc: EVERY_TIER },
  control: naive(async () => {
    const text = `shown <internal>${MARK.join('-')}`;
    const said = text.replace(/<internal>.*?<\/internal>/gs, '');
    return said.includes(MARK.join('-')) ? reached('a pattern for whole tags let an unclosed one out') : held(said);
  }),
  attempt: async (arena) => {
    const judge = createJudge();
    const made = await attack(arena, {
      script: `
mark = "-".join(${literal(MARK)})
texts = ["shown <internal>" + mark, "<INTERNAL >" + mark + "</internal>shown", "shown<internal><internal>" + mark + "</internal>" + mark,
         "shown</internal><internal\\n>" + mark, "<internal>" * 5000 + mark]
for n, text in enumerate(texts): request("i%d" % n, type="message", text=text)
report()
frames(*[{"type": "text", "delta": "<" * 900000}] * 1, *[{"type": "text", "delta": d} for d in ["<inter", "nal>", mark, "</inter", "nal", "> shown <internal>", mark]])
frames({"type": "result", "text": "the end <internal>" + mark})
time.sleep(5)`,
    });
    judge.needs(
      made.turn.messages.some((text) => text.includes('the end')),
      `no result: ${made.turn.reason} ${made.turn.reply.slice(-200)}`,
    );
    judge.breach(await isInHistory(arena, MARK.join('-')), 'it stands in the message store');
    judge.breach(made.turn.messages.join().includes(MARK.join('-')), 'it was said');
    await judgeGround(judge, arena, made);
    return judge.verdict(`${made.turn.messages.length} messages, none with a word of it`);
  },
};
