/** Well-formed frames, far too many. */
import type { InvocationId } from '../../domain/ids.ts';
import { EVERY_TIER } from '../../domain/tiers.ts';
import { attack, createJudge, judgeGround } from '../host/attack.ts';
import { type HostProbe, noControl } from '../probe.ts';

const RECEIPTS_MAX = 500;

export const hostFrameFlood: HostProbe = {
  kind: 'host',
  id: 'host-frame-flood',
  topic: 'messages',
  tries:
    'to fill the host’s records and hold its loop by tens of thousands of good frames: receipts, acknowledgements of ids that aren’t its own, progress, usage',
  why: 'of a turn 500 receipts are kept, acknowledged are only files that this turn was handed, and the lines of a turn are counted',
  expected: { runc: EVERY_TIER },
  control: noControl('a host that keeps every receipt keeps all of them: there is nothing to show'),
  attempt: async (arena) => {
    const judge = createJudge();
    const made = await attack(arena, {
      withNeighbour: true,
      script: `
receipt = {"type": "receipt", "id": "r" * 200, "tool": "t" * 100, "argumentsDigest": "0" * 64, "outcome": "ok"}
ack = {"type": "ack", "ids": ["planted-%d" % n for n in range(1000)]}
usage = {"type": "usage", "inputTokens": 9007199254740991, "outputTokens": 9007199254740991}
for n in range(20): frames(*([receipt] * 500 + [ack] * 10 + [{"type": "progress", "note": "n" * 500}] * 200 + [usage] * 100))
time.sleep(0.5)
tell("flooded")`,
    });
    judge.needs(
      made.acts.length === 1 || made.turn.reason === 'output',
      `no flood: ${made.turn.reason} ${made.turn.reply.slice(-200)}`,
    );
    const kept = arena.stores.receipts.of(made.turn.invocation as InvocationId).length;
    judge.needs(kept > 0, 'no receipt was kept');
    judge.breach(kept > RECEIPTS_MAX, `${kept} receipts kept`);
    await judgeGround(judge, arena, made);
    return judge.verdict(`${kept} of 10,000 receipts kept; the turn: ${made.turn.reason}; the neighbour was served`);
  },
};
