/** More on stderr than anybody reads. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { attack, createJudge, judgeGround } from '../host/attack.ts';
import { type HostProbe, noControl } from '../probe.ts';

export const hostStderrFlood: HostProbe = {
  kind: 'host',
  id: 'host-stderr-flood',
  topic: 'limits',
  tries: 'to hold the host, or starve another chat, by printing on the runner’s stderr without end',
  why: 'the reader never pauses and never keeps: beyond 64 MiB it throws away what comes, and the turn ends (output)',
  expected: { runc: EVERY_TIER },
  control: noControl('that a flood floods needs no showing; what it costs is measured by the event loop’s lag'),
  attempt: async (arena) => {
    const judge = createJudge();
    const made = await attack(arena, {
      withNeighbour: true,
      script: `
out = stream_of_runner(2)
line = (json.dumps({"type": "flood", "text": "x" * 900}) + "\\n").encode() * 64
end = time.time() + 40
while time.time() < end: os.write(out, line)`,
    });
    judge.breach(
      made.turn.reason !== 'output',
      `the turn ended with ${made.turn.reason} ${made.turn.reply.slice(-200)}`,
    );
    await judgeGround(judge, arena, made);
    return judge.verdict(`${made.turn.detail}, after ${Math.round(made.turn.elapsedMs)} ms; the neighbour was served`);
  },
};
