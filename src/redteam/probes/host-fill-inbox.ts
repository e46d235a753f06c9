/** The one place that every tier can write on the host's disk, filled. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { attack, createJudge, judgeGround } from '../host/attack.ts';
import { type HostProbe, noControl } from '../probe.ts';

export const hostFillInbox: HostProbe = {
  kind: 'host',
  id: 'host-fill-inbox',
  topic: 'limits',
  tries: 'to fill the host’s disk through its directory of requests: large files, hidden files, a deep directory',
  why: 'what lies there is measured all the time, and beyond the tier’s quota the turn ends (disk)',
  expected: { runc: EVERY_TIER },
  control: noControl('a disk without a quota fills up: nobody wants to see it'),
  attempt: async (arena) => {
    const judge = createJudge();
    const made = await attack(arena, {
      withNeighbour: true,
      script: `
os.makedirs(BOX + "/.a/b/c")
piece = os.urandom(8 * 1048576)
for n in range(100):
    with open(BOX + ("/.h%d", "/.a/b/c/%d", "/f%d")[n % 3] % n, "wb") as f: f.write(piece)
tell("filled", bytes=100 * len(piece))
time.sleep(30)`,
    });
    const { reason, detail, elapsedMs, reply } = made.turn;
    judge.breach(reason !== 'disk', `the turn ended with ${reason} ${reply.slice(-200)}`);
    await judgeGround(judge, arena, made);
    return judge.verdict(`${detail}, after ${Math.round(elapsedMs)} ms; the neighbour was served`);
  },
};
