/** Processes that mean to outlive their turn. */
import { setTimeout as sleep } from 'node:timers/promises';
import { EVERY_TIER } from '../../domain/tiers.ts';
import { attack, createJudge, judgeGround } from '../host/attack.ts';
import { type Arena, type HostProbe, noControl } from '../probe.ts';

/** TERM, a second, KILL, removed and asked for once more; generous for a busy engine. */
const GONE_WITHIN_MS = 15_000;

const isThere = async (arena: Arena, container: string): Promise<boolean> => {
  try {
    await arena.inspect(container);
    return true;
  } catch {
    return false; // The engine doesn't know it any more; an engine that is gone would fail the next turn.
  }
};

const goneAfterMs = async (arena: Arena, container: string): Promise<number> => {
  const from = performance.now();
  while ((await isThere(arena, container)) && performance.now() - from < GONE_WITHIN_MS) await sleep(50);
  return performance.now() - from;
};

export const hostLingering: HostProbe = {
  kind: 'host',
  id: 'host-lingering',
  topic: 'processes',
  tries:
    'to go on after the turn: daemonised, deaf to SIGTERM and SIGHUP, printing all the time, holding the runner’s stdout open',
  why: 'the container is the turn’s alone: it is killed a second after the end, removed, and the engine asked whether it is gone',
  expected: { runc: EVERY_TIER },
  control: noControl('a container that nobody removes stays: there is nothing to show'),
  attempt: async (arena) => {
    const judge = createJudge();
    const running = arena.running(arena.attacker);
    const made = await attack(arena, {
      script: `
import signal
out = stream_of_runner(1)
for _ in range(5):
    if os.fork() == 0:
        os.setsid()
        for s in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGPIPE): signal.signal(s, signal.SIG_IGN)
        while True:
            try: os.write(out, b'{"type":"progress","note":"still here"}\\n')
            except OSError: pass
            time.sleep(0.05)
frames({"type": "result", "text": "an early end"})
time.sleep(60)`,
    });
    const { container } = await running;
    judge.needs(
      made.turn.messages.some((text) => text.includes('an early end')),
      `no early end: ${made.turn.reason}`,
    );
    const ms = await goneAfterMs(arena, container);
    judge.breach(ms > GONE_WITHIN_MS, 'the container is still there');
    await judgeGround(judge, arena, made);
    return judge.verdict(`the container was gone ${Math.round(ms)} ms after the turn’s end`);
  },
};
