/** Files without end, and names that are meant for whoever gets them. */
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { EVERY_TIER } from '../../domain/tiers.ts';
import { groupDirectory } from '../../home.ts';
import { attack, createJudge, judgeGround } from '../host/attack.ts';
import { layOut } from '../host/ground.ts';
import { literal } from '../host/script.ts';
import { type HostProbe, noControl } from '../probe.ts';

const FILES_MAX = 20;
const NAME = '\u202egpj\u001b[2J;$(id)`id`"><x>.exe';
const UNSAFE = /[\p{C}/\\:*?"'`$<>|]/u;

export const hostSendFileFlood: HostProbe = {
  kind: 'host',
  id: 'host-send-file-flood',
  topic: 'files',
  tries:
    'to fill the host’s disk and the chat with files, under a name with control characters, direction marks and shell words',
  why: 'a turn sends at most 20 files and 100 MiB, a group’s copies are bounded, and a copy’s name is the host’s own making',
  expected: { runc: EVERY_TIER },
  control: noControl('a host that sends each sends all of them: there is nothing to show'),
  attempt: async (arena) => {
    const ground = await layOut(arena);
    await writeFile(join(groupDirectory(arena.home, arena.attacker.folder), NAME), 'x', { mode: 0o644 });
    const script = `
name = ${literal(NAME)}
for n in range(26): request("s%d" % n, type="send_file", path="/workspace/group/" + name, caption="c" * 500)
report()`;
    const judge = createJudge();
    const made = await attack(arena, { ground, script });
    const sent = made.acts.filter(({ answer }) => answer?.ok === true).length;
    judge.needs(sent > 0, `nothing was sent: ${made.turn.reply.slice(-200)}`);
    judge.breach(sent > FILES_MAX, `${sent} files sent in one turn`);
    const names = await readdir(join(arena.home.outfiles, arena.attacker.folder), { recursive: true });
    const unsafe = names.filter((name) => UNSAFE.test(name.split('/').at(-1) ?? ''));
    judge.breach(unsafe.length > 0, `kept under unsafe names: ${JSON.stringify(unsafe).slice(0, 200)}`);
    await judgeGround(judge, arena, made);
    return judge.verdict(`${sent} of 26 sent, as ${names.at(-1)?.split('/').at(-1)}`);
  },
};
