/** Frames that are small to send and dear to check. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { attack, createJudge, judgeGround } from '../host/attack.ts';
import { type HostProbe, noControl } from '../probe.ts';

export const hostFrameCostly: HostProbe = {
  kind: 'host',
  id: 'host-frame-costly',
  topic: 'limits',
  tries:
    'to hold the host’s event loop by frames that cost far more to check than to send: hundreds of wrong entries in a few hundred bytes, thousands of keys, thousands of parts',
  why: 'what a frame may hold is bounded before it is parsed, and what its checking costs is bounded per look at the stream',
  expected: { runc: EVERY_TIER },
  control: noControl('what it costs is measured by the event loop’s lag, which the run checks after every probe'),
  attempt: async (arena) => {
    const judge = createJudge();
    const made = await attack(arena, {
      withNeighbour: true,
      script: `
kinds = [
    {"type": "transcript", "entries": [{}] * 200},
    {"type": "transcript", "entries": [{"role": "user", "content": [1] * 200}] * 49},
    {"type": "transcript", "entries": [{"role": "user", "content": [{}] * 200}] * 49},
    {"type": "ready", **{"k%d" % n: 1 for n in range(9000)}},
    {"type": "ack", "ids": [1] * 9000},
    {"type": "ack", "ids": ["a"] * 1000}]
out = stream_of_runner(1)
for kind in kinds:
    line = (json.dumps(kind, separators=(",", ":")) + "\\n").encode()
    many = line * max(1, 2000000 // len(line))
    sent = 0
    while sent < len(many): sent += os.write(out, many[sent:])
tell("sent")
time.sleep(0.5)`,
    });
    const isDone = made.acts.length === 1 || made.turn.reason === 'output';
    judge.needs(isDone, `not sent: ${made.turn.reason} ${made.turn.reply.slice(-200)}`);
    await judgeGround(judge, arena, made);
    return judge.verdict(`12 MB of them; the turn: ${made.turn.reason}; the neighbour was served`);
  },
};
