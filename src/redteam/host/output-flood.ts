/** A container that prints on one of the runner’s streams without end; the host reads on and must end the turn. */
import type { Arena, Outcome } from '../probe.ts';
import { attack, createJudge, judgeGround } from './attack.ts';

/** `descriptor`: 1 stdout, 2 stderr. */
export const floodOutput = async (arena: Arena, descriptor: 1 | 2): Promise<Outcome> => {
  const judge = createJudge();
  const made = await attack(arena, {
    withNeighbour: true,
    script: `
out = stream_of_runner(${descriptor})
line = (json.dumps({"type": "flood", "text": "x" * 900}) + "\\n").encode() * 64
end = time.time() + 40
while time.time() < end: os.write(out, line)`,
  });
  judge.breach(made.turn.reason !== 'output', `the turn ended with ${made.turn.reason} ${made.turn.reply.slice(-200)}`);
  await judgeGround(judge, arena, made);
  return judge.verdict(`${made.turn.detail}, after ${Math.round(made.turn.elapsedMs)} ms; the neighbour was served`);
};
