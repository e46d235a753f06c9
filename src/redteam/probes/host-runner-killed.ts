/** A turn whose own runner is ended by what it runs. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { attack, createJudge, judgeGround } from '../host/attack.ts';
import { type HostProbe, noControl } from '../probe.ts';

export const hostRunnerKilled: HostProbe = {
  kind: 'host',
  id: 'host-runner-killed',
  topic: 'processes',
  tries: 'to hang or break the host by killing the runner half-way through a frame',
  why: 'the container’s exit ends the turn, a half frame is thrown away, and how often a turn is tried again is bounded',
  expected: { runc: EVERY_TIER },
  control: noControl('a host that waits for the runner’s last word waits for ever: there is nothing to show'),
  attempt: async (arena) => {
    const judge = createJudge();
    const made = await attack(arena, {
      withNeighbour: true,
      script: `
import signal
pid = int(runner())
os.write(stream_of_runner(1), b'{"type":"result","text":"half a fra')
os.kill(pid, signal.SIGKILL)
time.sleep(30)`,
    });
    judge.breach(
      made.turn.reason === 'completed' || made.turn.reason === 'timeout',
      `the turn: ${made.turn.reason} ${made.turn.reply.slice(-200)}`,
    );
    judge.breach(made.turn.messages.join().includes('half a fra'), 'half a frame was taken for a whole one');
    const next = await arena.say(arena.attacker, 'run: echo unimpressed');
    judge.breach(!next.reply.includes('unimpressed'), `the next turn: ${next.reason} ${next.detail}`);
    await judgeGround(judge, arena, made);
    return judge.verdict(
      `ended with ${made.turn.reason} after ${Math.round(made.turn.elapsedMs)} ms; the next turn answered`,
    );
  },
};
