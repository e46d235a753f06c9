/** A request file that is far too large. */
import { truncate, writeFile } from 'node:fs/promises';
import { EVERY_TIER } from '../../domain/tiers.ts';
import { attack, createJudge, judgeGround } from '../host/attack.ts';
import { BYTES_MAX, peakBytes } from '../host/memory.ts';
import { inChild, naive } from '../host/naive.ts';
import { type HostProbe, held, reached } from '../probe.ts';

const FILE_BYTES = 64 * 1024 * 1024;
const READ = `
require('node:fs').promises.readFile(process.argv[1]).then(() => console.log(process.memoryUsage().arrayBuffers));`;

export const hostRequestSize: HostProbe = {
  kind: 'host',
  id: 'host-request-size',
  topic: 'messages',
  tries:
    'to fill the host’s memory with request files of 50 MB, of 5 GB of nothing, and with one that grows while it is read',
  why: 'the size is asked of the descriptor first, and a read never takes more than was allowed',
  expected: { runc: EVERY_TIER },
  control: naive(async (_ground, arena) => {
    const path = `${await arena.outside()}/x.json`;
    await writeFile(path, '');
    await truncate(path, FILE_BYTES);
    const { stdout } = await inChild(READ, [path], 20_000);
    return Number(stdout) > BYTES_MAX ? reached(`readFile held ${stdout} bytes`) : held(`it held ${stdout} bytes`);
  }),
  attempt: async (arena) => {
    const judge = createJudge();
    const script = `
def full(path, id):
    with open(path + ".a", "wb") as f:
        for _ in range(50): f.write(b" " * 1048576)
    os.rename(path + ".a", path)
def hollow(path, id):
    with open(path + ".a", "wb") as f: f.truncate(${FILE_BYTES} if os.path.ismount(BOX) else 5 * 2**30)
    os.rename(path + ".a", path)
def growing(path, id):
    with open(path, "wb") as f:
        for _ in range(1500): f.write(b" " * 8192); f.flush()
plant("hollow", hollow)
plant("growing", growing, [BOX])
plant("full", full, [BOX])
report()`;
    const { result: made, bytes } = await peakBytes(() => attack(arena, { script }));
    const isEnded = made.turn.reason === 'disk';
    judge.needs(isEnded || made.acts.length >= 3, `only ${made.acts.length} acts: ${made.turn.reply.slice(-200)}`);
    for (const { act, answer } of made.acts) judge.breach(answer?.ok === true, `carried out: ${act}`);
    judge.breach(bytes > BYTES_MAX, `the host held ${bytes} bytes more`);
    judge.breach(made.audit.length === 0, 'nothing on record');
    await judgeGround(judge, arena, made);
    return judge.verdict(`at most ${bytes} bytes more in the host; the turn: ${made.turn.reason}`);
  },
};
