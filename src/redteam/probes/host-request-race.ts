/** A request file that changes its nature while the host looks at it. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { attack, createJudge, judgeGround } from '../host/attack.ts';
import { layOut } from '../host/ground.ts';
import { inChild, naive } from '../host/naive.ts';
import { literal } from '../host/script.ts';
import { type HostProbe, held, reached } from '../probe.ts';

/** Swaps in a worker, checks and reads in the main thread, until it has read what it had not checked. */
const CHECK_THEN_READ = `
const { Worker, isMainThread, workerData } = require('node:worker_threads');
const fs = require('node:fs');
const [, secret, dir] = process.argv;
const swap = \`
const fs = require('node:fs'), { workerData: [secret, dir] } = require('node:worker_threads');
for (;;) {
  fs.writeFileSync(dir + '/f', 'mine'); fs.renameSync(dir + '/f', dir + '/x');
  fs.symlinkSync(secret, dir + '/l'); fs.renameSync(dir + '/l', dir + '/x');
}\`;
new Worker(swap, { eval: true, workerData: [secret, dir] });
const end = Date.now() + 8000;
const look = () => {
  for (let n = 0; n < 100; n += 1) {
    try {
      if (!fs.lstatSync(dir + '/x').isFile()) continue;
      const text = fs.readFileSync(dir + '/x', 'utf8');
      if (text !== 'mine' && text !== '') { console.log(text); process.exit(); }
    } catch {}
  }
  if (Date.now() < end) setImmediate(look); else process.exit(1);
};
look();`;

export const hostRequestRace: HostProbe = {
  kind: 'host',
  id: 'host-request-race',
  topic: 'messages',
  tries: 'to swap a checked request for a link, a hard link or a directory just before it is read',
  why: 'what was opened is checked by its descriptor and read through it: no name is looked up a second time',
  expected: { runc: EVERY_TIER },
  control: naive(async ({ secretFile, canary }, arena) => {
    const { stdout } = await inChild(CHECK_THEN_READ, [secretFile, await arena.outside()], 10_000);
    return stdout.includes(canary) ? reached('lstat, then readFile: it read the secret') : held('it was never fooled');
  }),
  attempt: async (arena) => {
    const ground = await layOut(arena);
    const script = `
secret = ${literal(ground.secretFile)}
end = time.time() + 2
n = 0
while time.time() < end:
    n += 1
    p = BOX + "/r%d.json" % (n % 5)
    try:
        os.symlink(secret, BOX + "/.l"); os.rename(BOX + "/.l", p)
        put(p, json.dumps({"type": "message", "id": "i%d" % n, "text": "raced %d" % n}))
        if n % 7 == 0: os.link(p, BOX + "/.h"); os.rename(BOX + "/.h", p + ".json")
        if n % 11 == 0: os.unlink(p); os.mkdir(p); os.rmdir(p)
    except OSError: pass
tell("swapped", times=n)`;
    const judge = createJudge();
    const made = await attack(arena, { ground, script });
    judge.needs(
      made.acts.some(({ act }) => act === 'swapped'),
      `it did not swap: ${made.turn.reply.slice(-200)}`,
    );
    const strange = made.turn.messages.slice(0, -1).filter((text) => !/^raced \d+$/.test(text));
    judge.breach(strange.length > 0, `came out: ${strange.join().slice(0, 200)}`);
    await judgeGround(judge, arena, made);
    return judge.verdict(`swapped ${String(made.acts.at(-1)?.times)} times; only whole requests came out`);
  },
};
