/** A turn's socket, after the turn. */
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { createServer } from 'node:http';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { EVERY_TIER } from '../../domain/tiers.ts';
import { createJudge } from '../host/attack.ts';
import { naive } from '../host/naive.ts';
import { type HostProbe, held, reached } from '../probe.ts';

const GONE_WITHIN_MS = 10_000;
const SILENT_MS = 500;

interface Line {
  readonly socket: Socket;
  readonly heard: () => string;
}

/** By the directory's descriptor: a path over 108 bytes would be cut. */
const dial = async (directory: FileHandle): Promise<Line> => {
  const socket = connect(`/proc/self/fd/${directory.fd}/gateway.sock`);
  const pieces: string[] = [];
  socket.on('data', (piece) => pieces.push(String(piece)));
  socket.on('error', () => socket.destroy());
  await once(socket, 'connect');
  return { socket, heard: () => pieces.join('') };
};

const askLate = async ({ socket, heard }: Line): Promise<string> => {
  const before = heard().length;
  if (socket.writable) socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
  await sleep(SILENT_MS);
  socket.destroy();
  return heard().slice(before);
};

export const hostLateSocket: HostProbe = {
  kind: 'host',
  id: 'host-late-socket',
  topic: 'gateway',
  tries: 'to go on using a turn’s socket after its end, by a connection that was open before and by a new one',
  why: 'the server is closed and its connections are cut before a turn’s directories go',
  expected: { runc: EVERY_TIER },
  control: naive(async ({ outside }) => {
    const server = createServer((_request, response) => response.end('late'));
    server.listen(join(outside, 'gateway.sock'));
    await once(server, 'listening');
    const directory = await open(outside);
    const late = await askLate(await dial(directory));
    await directory.close();
    server.close();
    return late.includes('late') ? reached('a server that nobody closes answers late') : held('no answer');
  }),
  attempt: async (arena) => {
    const judge = createJudge();
    const turn = arena.say(arena.attacker, 'run: sleep 2; echo done');
    const { invocation } = await arena.running(arena.attacker);
    const path = join(arena.home.sockets, invocation);
    const directory = await open(path);
    try {
      const line = await dial(directory);
      judge.needs((await turn).reply.includes('done'), `the turn: ${(await turn).reason}`);
      const from = performance.now();
      while (existsSync(path) && performance.now() - from < GONE_WITHIN_MS) await sleep(50);
      judge.breach(existsSync(path), `${path} is still there`);
      judge.breach((await askLate(line)) !== '', 'an open connection was answered after the end');
      const again = await dial(directory).then(
        () => true,
        () => false, // What has to happen: nobody listens there any more.
      );
      judge.breach(again, 'a new connection was taken after the end');
    } finally {
      await directory.close();
    }
    return judge.verdict('the old connection got no answer, a new one was not taken');
  },
};
