/** `send_file` as a hostile agent asks for it, in a real container: what leaves is what its plan shows and nothing else. */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Ground, NOTHING_REFUSED, prepareGround, request, SECRET } from './hostile.ts';
import type { Conversation } from './installation.ts';

let ground: Ground;
beforeAll(async () => {
  ground = await prepareGround();
  const { home } = ground.installation;
  // What people and earlier turns may have left where this tier only reads.
  for (const folder of ['lobby', 'friends', 'main']) {
    const inGroup = (name: string) => join(home.groups, folder, name);
    execFileSync('mkdir', ['-p', inGroup('folder')]);
    writeFileSync(inGroup('report.txt'), `report of ${folder}\n`);
    writeFileSync(inGroup('folder/host-only.txt'), SECRET, { mode: 0o600 });
    symlinkSync(join(ground.outside, 'secret.txt'), inGroup('link.txt'));
    symlinkSync(ground.outside, inGroup('link'));
    symlinkSync('/proc/self/environ', inGroup('environ'));
    execFileSync('mkfifo', [inGroup('fifo')]);
    execFileSync('mknod', [inGroup('zero'), 'c', '1', '5']);
    writeFileSync(inGroup('sparse'), '');
    truncateSync(inGroup('sparse'), 5 * 1024 ** 3);
    execFileSync('ln', [join(home.groups, folder, 'report.txt'), inGroup('twin.txt')]);
    writeFileSync(inGroup('good.txt'), `good words of ${folder}\n`);
  }
});
afterAll(() => ground?.close());

const copies = (folder: string): string[] => {
  const directory = join(ground.installation.home.outfiles, folder);
  return existsSync(directory) ? readdirSync(directory) : [];
};

const filesOf = ({ events }: Conversation) =>
  events.flatMap((event) => (event.kind === 'message' && event.file !== undefined ? [event.file] : []));

/** Path (`HOME` and `OUTSIDE` stand for what they are on the host), and what the agent is told. */
const REFUSED: readonly (readonly [path: string, told: string])[] = [
  ['/workspace/group/../../.env', 'has \\"..\\" in it'],
  ['../../.env', 'has \\"..\\" in it'],
  ['/workspace/group/folder/../../friends/secret.txt', 'has \\"..\\" in it'],
  ['HOME/.env', 'no directory shared'],
  ['HOME/groups/friends/secret.txt', 'no directory shared'],
  ['OUTSIDE/secret.txt', 'no directory shared'],
  ['/etc/passwd', 'no directory shared'],
  ['/proc/self/environ', 'no directory shared'],
  ['/proc/1/root/workspace/group/good.txt', 'no directory shared'],
  ['/tmp/x', 'no directory shared'],
  ['/dev/zero', 'no directory shared'],
  ['/workspace/store/messages.db', 'nothing is sent from /workspace/store'],
  ['/workspace/ipc/messages/x.json', 'nothing is sent from /workspace/ipc'],
  ['/run/tierclaw/gateway.sock', 'nothing is sent from /run/tierclaw'],
  ['/workspace/group', 'is a directory'],
  ['/workspace/group/folder', 'a directory'],
  ['/workspace/group/link.txt', 'symbolic link'],
  ['/workspace/group/link/secret.txt', 'not a real directory'],
  ['/workspace/group/environ', 'symbolic link'],
  ['/workspace/group/fifo', 'not a regular file'],
  ['/workspace/group/zero', 'not a regular file'],
  ['/workspace/group/sparse', 'at most 20971520 are allowed'],
  ['/workspace/group/twin.txt', '2 hard links'],
  ['/workspace/group/folder/host-only.txt', 'may not read it'],
  ['/workspace/group/nothing', 'not there'],
];

const SHARED_MEMORY = {
  lobby: 'no directory shared',
  friends: 'may not read it',
  main: 'may not read it',
} as const;

describe.each(['lobby', 'friends', 'main'] as const)('send_file in %s', (folder) => {
  const onHost = (path: string): string =>
    path.replace('HOME', ground.installation.home.dir).replace('OUTSIDE', ground.outside);

  it.each([...REFUSED, ['/workspace/trusted/secret.txt', SHARED_MEMORY[folder]] as const])(
    'of %s is refused, recorded, and the agent is told: %s',
    async (path, told) => {
      const turn = await ground.ask(folder, `send-file: ${onHost(path)}`, [
        { kind: 'request-refused', told, count: 1 },
      ]);
      expect(filesOf(turn)).toEqual([]);
      expect(await ground.recorded(turn)).toContainEqual(expect.objectContaining({ request: 'send_file' }));
      expect(copies(folder)).toEqual([]);
    },
  );
});

describe.each(['lobby', 'friends', 'main'] as const)('send_file of a good file in %s', (folder) => {
  it('gives the operator a copy of the host’s own and says where it lies', async () => {
    const turn = await ground.ask(folder, 'send-file: good.txt', NOTHING_REFUSED);
    expect(turn.reply).toContain('sent "good.txt"');
    const [file] = filesOf(turn);
    expect(file).toMatchObject({ name: 'good.txt' });
    expect(file?.path.startsWith(join(ground.installation.home.outfiles, folder))).toBe(true);
    expect(readFileSync(file?.path ?? '', 'utf8')).toBe(`good words of ${folder}\n`);
    expect(statSync(file?.path ?? '').mode & 0o777).toBe(0o600);
    expect(turn.messages[0]).toContain(file?.path);
    expect((await ground.recorded(turn)).map(({ kind }) => kind)).toContain('file-sent');
  });
});

describe('a file that is replaced while it is sent', () => {
  /** Sends it again and again while it turns into a link, a hard link, a longer and a shorter file. */
  const race = (secret: string) => `python3 -c '
import json, os, time
end = time.time() + 2
n = 0
while time.time() < end:
  n += 1
  try:
    os.symlink("${secret}", ".l"); os.rename(".l", "raced")
    open(".f", "w").write("A" * 3000000); os.rename(".f", "raced")
    open("raced", "a").write("B")
    os.truncate("raced", 10)
    if n % 20 == 1 and n < 400:
      i = "c%d" % n
      open("/workspace/ipc/messages/.t", "w").write(json.dumps({"type": "send_file", "id": i, "path": "/workspace/group/raced"}))
      os.rename("/workspace/ipc/messages/.t", "/workspace/ipc/messages/%s.json" % i)
  except OSError as e: print(e)
print("rounds", n)'; sleep 1; cat /workspace/ipc/input/c*.json`;

  it('leaves as one of its whole contents or not at all', async () => {
    const turn = await ground.probe('friends', race(join(ground.outside, 'secret.txt')), NOTHING_REFUSED);
    expect(turn.done.reason).toBe('completed');
    expect(turn.reply).toContain('rounds');
    // How many the race wins is luck; each that it loses is on record and told, and so is each that it wins.
    const recorded = (await ground.recorded(turn)).map(({ kind }) => kind);
    const count = (kind: string) => recorded.filter((one) => one === kind).length;
    expect(count('request-refused') + count('file-sent')).toBeGreaterThan(0);
    expect(turn.reply.match(/"ok":false/g) ?? []).toHaveLength(count('request-refused'));
    expect(turn.reply.match(/"ok":true/g) ?? []).toHaveLength(count('file-sent'));
    for (const { path, bytes } of filesOf(turn)) {
      const content = readFileSync(path, 'utf8');
      expect(content).toHaveLength(bytes);
      expect(content).toMatch(/^A*B?$/);
    }
  });
});

describe('a flood of files', () => {
  it('is bounded per turn, in number and bytes, and told', async () => {
    const names = Array.from({ length: 25 }, (_, n) => `s${n}`);
    const requests = names.map((id) => request({ type: 'send_file', id, path: '/workspace/group/small' }));
    const turn = await ground.probe('friends', `echo x > small; ${requests.join('; echo; ')}`, [
      { kind: 'request-refused', told: 'at most 20 files are sent in one turn', count: 5 },
    ]);
    expect(filesOf(turn)).toHaveLength(20);
  });

  it('of the largest allowed size passes piece by piece', async () => {
    const ids = ['b1', 'b2', 'b3', 'b4', 'b5', 'b6'];
    const requests = ids.map((id) => request({ type: 'send_file', id, path: '/workspace/group/big' }));
    const turn = await ground.probe('friends', `head -c 20971520 /dev/urandom > big; ${requests.join('; echo; ')}`, [
      { kind: 'request-refused', told: 'bytes of files are sent in one turn', count: 1 },
    ]);
    expect(filesOf(turn).map(({ bytes }) => bytes)).toEqual(Array(5).fill(20_971_520));
  });

  it('with a hostile name is shown under a harmless one', async () => {
    const name = String.raw`\u202egpj\n\u001b[2J;$(id).exe`;
    const turn = await ground.probe(
      'friends',
      `python3 -c 'open("${name}", "w").write("x")'; ` +
        request({ type: 'send_file', id: 'n1', path: `/workspace/group/${JSON.parse(`"${name}"`)}` }),
      NOTHING_REFUSED,
    );
    expect(filesOf(turn)).toMatchObject([{ name: '_gpj_[2J;_(id).exe', bytes: 1 }]);
  });
});
