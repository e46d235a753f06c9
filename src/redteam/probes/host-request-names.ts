/** Request files whose names are meant for whoever prints or logs them. */
import { appendFile, readFile } from 'node:fs/promises';
import { EVERY_TIER } from '../../domain/tiers.ts';
import { attack, createJudge, judgeGround } from '../host/attack.ts';
import { naive } from '../host/naive.ts';
import { type HostProbe, held, reached } from '../probe.ts';

const FORGED = 'forged-by-a-name';
/** Controls, and characters that reorder what stands around them. */
const UNSAFE = /[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;

export const hostRequestNames: HostProbe = {
  kind: 'host',
  id: 'host-request-names',
  topic: 'messages',
  tries:
    'to forge lines of the audit trail, or send control sequences to the operator’s terminal, by the names of files',
  why: 'names are escaped and bounded before they go on record, one JSON object per line',
  expected: { runc: EVERY_TIER },
  control: naive(async (_ground, arena) => {
    const file = `${await arena.outside()}/trail`;
    await appendFile(file, `{"refused":"a\n{"kind":"${FORGED}"}.json"}\n`);
    const lines = (await readFile(file, 'utf8')).split('\n');
    const isForged = lines.some((line) => line.startsWith(`{"kind":"${FORGED}"`));
    return isForged ? reached('a line of a plain text trail was forged by a name') : held('no line of its own');
  }),
  attempt: async (arena) => {
    const judge = createJudge();
    const made = await attack(arena, {
      script: `
names = [b'a\\n{"kind":"${FORGED}"}\\nb.json', b"\\x1b[2J\\x1b]0;owned\\x07c.json", "\\u202egpj.json".encode(), b"n" * 250 + b".json",
         b"\\xff\\xfe.json", b"$(id).json", b"\`id\`.json", b"-rf.json", b"..json", b"\\x7f\\x00".rstrip(b"\\x00") + b".json", "\\u2028.json".encode()]
for name in names:
    try: os.symlink(b"/etc/passwd", BOX.encode() + b"/" + name)
    except OSError as e: tell("name", impossible=str(e))
plant("last", lambda path, id: os.symlink("/etc/passwd", path))
report()`,
    });
    judge.needs(
      made.acts.some(({ act }) => act === 'last-messages'),
      'the names were not planted',
    );
    judge.breach(made.audit.length < 8, `only ${made.audit.length} of the names on record`);
    const all = await arena.audit();
    judge.breach(
      all.some(({ kind }) => kind.includes(FORGED)),
      'a line was forged',
    );
    const trail = await readFile(arena.home.auditFile, 'utf8');
    judge.breach(
      trail.split('\n').some((line) => UNSAFE.test(line)),
      'a control character is in the trail',
    );
    await judgeGround(judge, arena, made);
    return judge.verdict(`${made.audit.length} names on record, each on one line and escaped`);
  },
};
