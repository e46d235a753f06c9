/** As many entries as a container can make. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { attack, createJudge, judgeGround } from '../host/attack.ts';
import { inChild, naive } from '../host/naive.ts';
import { type HostProbe, held, reached } from '../probe.ts';

const LAG_MS_MAX = 100;

/** It looks through a directory of 15,000 entries at each hint, in its only thread. */
const LOOK_THROUGH = `
const fs = require('node:fs');
const dir = process.argv[1];
for (let n = 0; n < 15000; n += 1) fs.closeSync(fs.openSync(dir + '/f' + n, 'w'));
const from = performance.now();
for (const name of fs.readdirSync(dir)) if (fs.lstatSync(dir + '/' + name).isFile()) fs.readFileSync(dir + '/' + name);
console.log(Math.round(performance.now() - from));`;

export const hostRequestFlood: HostProbe = {
  kind: 'host',
  id: 'host-request-flood',
  topic: 'messages',
  tries: 'to hold the host by a million entries in the directory of requests, while another chat waits for its answer',
  why: 'a listing stops at 1,000 entries and ends the turn (disk); what is left is renamed away and deleted by a child process',
  expected: { runc: EVERY_TIER },
  control: naive(async (_ground, arena) => {
    const { stdout } = await inChild(LOOK_THROUGH, [await arena.outside()], 60_000);
    const heldMs = Number(stdout);
    return heldMs > LAG_MS_MAX ? reached(`a plain look at 15,000 entries took ${heldMs} ms`) : held(`${heldMs} ms`);
  }),
  attempt: async (arena) => {
    const judge = createJudge();
    const made = await attack(arena, {
      withNeighbour: true,
      script: `
def flood(part):
    for n in range(part, 1000000, 3):
        try:
            if n % 3 == 0: os.close(os.open(BOX + "/f%d.json" % n, os.O_CREAT | os.O_WRONLY))
            elif n % 3 == 1: os.symlink("/etc/passwd", BOX + "/.l%d" % n)
            else: os.mkdir(BOX + "/d%d" % n)
        except OSError: time.sleep(0.01)
for part in range(3): threading.Thread(target=flood, args=(part,), daemon=True).start()
time.sleep(60)
tell("survived")`,
    });
    const { reason, reply } = made.turn;
    judge.breach(
      made.acts.some(({ act }) => act === 'survived'),
      'it went on for a minute',
    );
    judge.breach(reason !== 'disk', `the turn ended with ${reason} ${reply.slice(-200)}`);
    judge.breach(!made.audit.some(({ kind }) => kind === 'ipc-flood'), 'nothing on record');
    await judgeGround(judge, arena, made);
    return judge.verdict(`ended after ${Math.round(made.turn.elapsedMs)} ms, the neighbour was served`);
  },
};
