/** The oldest one. */
import { EVERY_TIER, OUTSIDER_TIERS } from '../../domain/tiers.ts';
import { held, type InsideProbe, plainContainer, reached } from '../probe.ts';
import { pythonProbe } from '../python.ts';

export const forkBomb: InsideProbe = {
  kind: 'inside',
  id: 'fork-bomb',
  topic: 'limits',
  tries: 'to start 600 processes (the ceiling of the scratch home is 512, an untrusted chat has 256)',
  why: 'the container’s limit on processes: beyond it fork fails, and nothing else',
  expected: { runc: EVERY_TIER },
  control: plainContainer,
  ownTurn: true,
  attempt: (kit) =>
    pythonProbe(
      kit,
      `
import signal
children, reason = [], 'all of them'
try:
  for _ in range(600):
    pid = os.fork()
    if pid == 0: signal.pause()
    children.append(pid)
except OSError as thrown: reason = failure(thrown)
for pid in children: os.kill(pid, 9)
for pid in children: os.waitpid(pid, 0)
found(len(children) >= 600, '%d processes: %s' % (len(children), reason))
`,
      18000,
    ),
  after: async (arena, { reply }) => {
    const made = Number(/(\d+) processes/.exec(reply)?.[1] ?? 0);
    return OUTSIDER_TIERS.includes(arena.tier) && made > 256
      ? reached(`${made} processes, 256 are allowed`)
      : held('within its limit');
  },
};
