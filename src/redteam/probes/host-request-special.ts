/** A request file that is no file: opening it might wait for ever. */
import { execa } from 'execa';
import { EVERY_TIER } from '../../domain/tiers.ts';
import { mustRefuse } from '../host/attack.ts';
import { inChild, naive } from '../host/naive.ts';
import { type HostProbe, held, reached } from '../probe.ts';

const READ = 'require("node:fs").readFileSync(process.argv[1])';

export const hostRequestSpecial: HostProbe = {
  kind: 'host',
  id: 'host-request-special',
  topic: 'messages',
  tries: 'to hang the host on a FIFO, a socket, a device or a directory where it expects a request',
  why: 'the open is O_NONBLOCK, and what the descriptor says is no regular file is refused before a byte is read',
  expected: { runc: EVERY_TIER },
  control: naive(async (_ground, arena) => {
    const path = `${await arena.outside()}/x.json`;
    await execa('mkfifo', [path]);
    const { timedOut } = await inChild(READ, [path], 1000);
    return timedOut ? reached('readFileSync hung on the FIFO for a second, until it was killed') : held('it went on');
  }),
  attempt: (arena) =>
    mustRefuse(arena, {
      script: `
import stat
def bind(path, id):
    os.chdir(os.path.dirname(path))
    socket.socket(socket.AF_UNIX).bind(os.path.basename(path))
plant("fifo", lambda path, id: os.mkfifo(path))
plant("socket", bind)
plant("directory", lambda path, id: os.mkdir(path))
plant("full-directory", lambda path, id: os.makedirs(path + "/a/b"))
plant("device", lambda path, id: os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 5)))
report()`,
      atLeast: 4,
    }),
};
