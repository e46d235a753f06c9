/** The way of another turn to the world. */
import { join } from 'node:path';
import { EVERY_TIER } from '../../domain/tiers.ts';
import { attack, createJudge, judgeGround } from '../host/attack.ts';
import { literal } from '../host/script.ts';
import { type HostProbe, noControl } from '../probe.ts';

export const hostOtherSocket: HostProbe = {
  kind: 'host',
  id: 'host-other-socket',
  topic: 'gateway',
  tries:
    'to reach the socket of another group’s running turn: by its path on the host, beside its own, through /proc, and by a look at all that it sees',
  why: 'a turn is given a directory with its own socket and nothing above it',
  expected: { runc: EVERY_TIER },
  control: noControl('a directory with all sockets in it shows all of them: there is nothing to show'),
  attempt: async (arena) => {
    const judge = createJudge();
    const neighbour = arena.say(arena.victim, 'run: sleep 4; echo served-as-always');
    const { invocation } = await arena.running(arena.victim);
    const paths = [
      join(arena.home.sockets, invocation, 'gateway.sock'),
      `/run/tierclaw/../${invocation}/gateway.sock`,
      `/run/tierclaw/${invocation}/gateway.sock`,
      `/proc/1/root/run/tierclaw/../../${invocation}/gateway.sock`,
      arena.home.controlSocket,
      '/var/run/docker.sock',
    ];
    const made = await attack(arena, {
      script: `
import stat
def knock(address):
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(2)
        s.connect(address)
        s.sendall(b"GET / HTTP/1.1\\r\\nhost: x\\r\\n\\r\\n")
        return s.recv(200).decode("latin1")
for path in ${literal(paths)}: attempt("path", lambda: knock(path))
for line in open("/proc/net/unix").read().splitlines()[1:]:
    words = line.split(None, 7)
    if len(words) > 7 and words[7].startswith("@"): attempt("abstract", lambda: knock("\\0" + words[7][1:]))
found = set()
for root, dirs, files in os.walk("/"):
    if root.startswith(("/proc", "/sys")): dirs.clear(); continue
    for name in files:
        try:
            if stat.S_ISSOCK(os.lstat(root + "/" + name).st_mode): found.add(root + "/" + name)
        except OSError: pass
tell("walk", sockets=sorted(found))
attempt("own", lambda: knock("/run/tierclaw/gateway.sock"))`,
    });
    const { reply } = await neighbour;
    const [own, walk] = [made.acts.at(-1), made.acts.at(-2)];
    judge.needs(
      reply.includes('served-as-always') && own?.act === 'own' && own.done !== undefined,
      `no own socket: ${made.turn.reply.slice(-300)}`,
    );
    for (const { act, done } of made.acts.slice(0, -2))
      judge.breach(done !== undefined, `${act} answered: ${String(done)}`);
    judge.breach(
      JSON.stringify(walk?.sockets) !== '["/run/tierclaw/gateway.sock"]',
      `it sees ${JSON.stringify(walk?.sockets)}`,
    );
    await judgeGround(judge, arena, made);
    return judge.verdict('its own socket answers, the other’s is nowhere');
  },
};
