/** A file that is another one by the time it is sent. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { EVERY_TIER } from '../../domain/tiers.ts';
import { attack, createJudge, judgeGround } from '../host/attack.ts';
import { layOut } from '../host/ground.ts';
import { literal } from '../host/script.ts';
import { type Arena, type HostProbe, noControl } from '../probe.ts';

const sentFiles = async ({ home, attacker }: Arena): Promise<readonly string[]> => {
  const directory = join(home.outfiles, attacker.folder);
  const names = await readdir(directory, { recursive: true, withFileTypes: true }).catch(() => []);
  return names.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
};

const isWhole = async (path: string): Promise<boolean> => /^A*B?$/.test(await readFile(path, 'utf8'));

export const hostSendFileRace: HostProbe = {
  kind: 'host',
  id: 'host-send-file-race',
  topic: 'files',
  tries:
    'to have the host send something else than it checked, by swapping the file for a link, growing and cutting it while it is copied',
  why: 'the file is opened once and copied by its descriptor; one that changes meanwhile is refused',
  expected: { runc: EVERY_TIER },
  control: noControl('that lstat before open can be fooled is shown by host-request-race'),
  attempt: async (arena) => {
    const ground = await layOut(arena);
    const judge = createJudge();
    const before = new Set(await sentFiles(arena));
    const made = await attack(arena, {
      ground,
      script: `
os.chdir("/workspace/group")
secret = ${literal(ground.secretFile)}
def race():
    open(".raced", "w").close()
    end = time.time() + 2
    n = 0
    while time.time() < end:
        n += 1
        os.symlink(secret, ".l"); os.rename(".l", "raced")
        with open(".f", "w") as f: f.write("A" * 3000000)
        os.rename(".f", "raced")
        with open("raced", "a") as f: f.write("B")
        os.truncate("raced", 10)
        if n % 20 == 1 and n < 400: request("c%d" % n, type="send_file", path="/workspace/group/raced")
    os.unlink("raced"); os.unlink(".raced")
    return n
attempt("race", race)
report()`,
    });
    judge.needs(made.acts.length > 0, `it did not race: ${made.turn.reply.slice(-200)}`);
    const sent = (await sentFiles(arena)).filter((path) => !before.has(path));
    const strange = await Promise.all(sent.map(async (path) => ((await isWhole(path)) ? [] : [path])));
    judge.breach(strange.flat().length > 0, `sent with other content: ${strange.flat().join(', ')}`);
    await judgeGround(judge, arena, made);
    const [race] = made.acts;
    return judge.verdict(
      race?.impossible ?? `swapped ${String(race?.done)} times, ${sent.length} copies, each of a whole file`,
    );
  },
};
