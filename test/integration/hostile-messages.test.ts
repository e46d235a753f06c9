/** What a container puts where requests go, of the wrong kind: never opened or followed, on record, said to the agent. */
import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AuditKind } from '../../src/domain/audit-kinds.ts';
import { answerTo, type Ground, prepareGround, request } from './hostile.ts';

let ground: Ground;
beforeAll(async () => {
  ground = await prepareGround();
});
afterAll(() => ground?.close());

const quarantined = () => readdirSync(ground.installation.home.quarantine);

interface Plant {
  readonly title: string;
  /** Runs in the directory where requests go; makes `x.json`. */
  readonly make: string;
  /** In the audit trail and in the answer. */
  readonly kind: AuditKind;
  readonly told: string;
}

const python = (code: string): string => `python3 -c '${code}'`;

const PLANTS: readonly Plant[] = [
  { title: 'a link to /etc/passwd', make: 'ln -s /etc/passwd x.json', kind: 'ipc-link', told: 'symbolic link' },
  {
    title: 'a link to another group’s folder',
    make: 'ln -s ../../../../groups/friends/secret.txt x.json',
    kind: 'ipc-link',
    told: 'symbolic link',
  },
  { title: 'a link to /dev/zero', make: 'ln -s /dev/zero x.json', kind: 'ipc-link', told: 'symbolic link' },
  { title: 'a link to itself', make: 'ln -s x.json x.json', kind: 'ipc-link', told: 'symbolic link' },
  { title: 'a link to nothing', make: 'ln -s /nowhere x.json', kind: 'ipc-link', told: 'symbolic link' },
  { title: 'a FIFO', make: 'mkfifo x.json', kind: 'ipc-special', told: 'not a regular file' },
  {
    title: 'a socket',
    make: python('import socket; socket.socket(socket.AF_UNIX).bind("x.json")'),
    kind: 'ipc-special',
    told: 'not a regular file',
  },
  { title: 'a directory', make: 'mkdir x.json', kind: 'ipc-directory', told: 'a directory' },
  {
    title: 'a hard link',
    make: `printf '{"type":"message","id":"x","text":"twice"}' > .a && ln .a x.json`,
    kind: 'ipc-hard-link',
    told: '2 hard links',
  },
  {
    title: 'a file of 50 MB',
    make: 'head -c 52428800 /dev/zero > .a && mv .a x.json',
    kind: 'ipc-too-large',
    told: 'at most 1048576 are allowed',
  },
  {
    title: 'a sparse file of the largest size',
    make: 'truncate -s 64M .a && mv .a x.json',
    kind: 'ipc-too-large',
    told: 'at most 1048576 are allowed',
  },
  {
    title: 'invalid UTF-8',
    make: String.raw`printf '{"type":"message","id":"x","text":"\xff\xfe"}' > .a && mv .a x.json`,
    kind: 'ipc-not-utf8',
    told: 'UTF-8',
  },
  {
    title: 'a megabyte of brackets',
    make: `${python('open(".a","w").write("["*1048576)')} && mv .a x.json`,
    kind: 'ipc-not-a-request',
    told: 'levels of nesting',
  },
];

describe('in messages/ of an untrusted container', () => {
  it.each(PLANTS)('$title is refused, recorded and answered', async ({ make, kind, told }) => {
    const command = `cd /workspace/ipc/messages && ${make}; ${answerTo('x')}`;
    const { done, reply } = await ground.probe('lobby', command, [{ kind, told }]);
    expect(done.reason).toBe('completed');
    expect(reply).toContain('"ok":false');
  });

  it('a tree of directories under a request’s name is deleted behind, and none of it is kept', async () => {
    const make = python(
      'import os\nfor i in range(20):\n os.makedirs(".t/%d" % i)\n for j in range(50): open(".t/%d/%d" % (i, j), "w").close()\n' +
        'p = ".t"\nfor i in range(500):\n p += "/d"\n os.mkdir(p)\nos.rename(".t", "x.json")',
    );
    const command = `cd /workspace/ipc/messages && ${make}; ${answerTo('x')}`;
    await ground.probe('lobby', command, [{ kind: 'ipc-directory', told: 'a directory' }]);
    const directories = () =>
      quarantined().filter((name) =>
        lstatSync(join(ground.installation.home.quarantine, name), { throwIfNoEntry: false })?.isDirectory(),
      );
    await expect.poll(directories, { timeout: 30_000 }).toEqual([]);
  });

  it('names with line breaks, escapes, direction marks, 255 bytes and broken UTF-8 stay one line on record', async () => {
    const names = String.raw`b"a\nb.json", b"\x1b[2Jc.json", "\u202egpj.json".encode(), b"n"*250 + b".json", b"\xff\xfe.json", b"$(id).json", b"-rf.json"`;
    const make = python(`
import os
for n in [${names}]:
  os.symlink(b"/etc/passwd", n)
os.symlink("/etc/passwd", "x.json")`);
    const command = `cd /workspace/ipc/messages && ${make}; ${answerTo('x')}`;
    const turn = await ground.probe('lobby', command, [{ kind: 'ipc-link', told: 'symbolic link' }]);
    const kinds = (await ground.recorded(turn)).map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === 'ipc-link' || kind === 'ipc-name')).toHaveLength(8);
    const raw = readFileSync(ground.installation.home.auditFile, 'utf8').split('\n');
    const lines = raw.filter((line) => line.includes(turn.done.invocation));
    expect(lines).toHaveLength(kinds.length);
    for (const line of lines) expect(line).not.toMatch(/[\p{Cc}\u202a-\u202e]/u);
  });

  it('a request that is swapped for a link all the time is read whole or not at all', async () => {
    const race = python(`
import os, time
end = time.time() + 2
n = 0
while time.time() < end:
  n += 1
  p = "r%d.json" % (n % 5)
  try:
    os.symlink("/etc/passwd", ".l"); os.rename(".l", p)
    open(".f", "w").write("{\\"type\\":\\"message\\",\\"id\\":\\"i%d\\",\\"text\\":\\"raced %d\\"}" % (n, n)); os.rename(".f", p)
  except OSError as e: print(e)
print("swapped", n)`);
    // The last link stays, so that at least one has been seen.
    const command = `cd /workspace/ipc/messages && ${race}; ln -s /etc/passwd x.json; ${answerTo('x')}`;
    const { done, reply, messages } = await ground.probe('lobby', command, [
      { kind: 'ipc-link', told: /symbolic link/ },
    ]);
    expect(done.reason).toBe('completed');
    expect(reply).toContain('swapped');
    for (const text of messages.slice(0, -1)) expect(text).toMatch(/^raced \d+$/);
  });
});

describe.each(['friends', 'main'])('in the whole layout of %s', (folder) => {
  it.each(['messages', 'tasks'])(
    'links, FIFOs and hard links in %s/ are refused, recorded and answered',
    async (box) => {
      const make =
        'ln -s /etc/passwd a.json; mkfifo b.json; echo x > .c; ln .c c.json; ln ../available_groups.json d.json; ' +
        'truncate -s 5G .e && mv .e e.json; mkdir -p f.json/f; ln -s ../../../../../.env g.json';
      const ids = ['a', 'b', 'c', 'e', 'f', 'g'];
      const command = `cd /workspace/ipc/${box} && { ${make}; }; ${ids.map(answerTo).join('; ')}`;
      const { reply } = await ground.probe(folder, command, [
        { kind: 'ipc-link', told: 'symbolic link', count: 2 },
        { kind: 'ipc-special', told: 'not a regular file' },
        { kind: 'ipc-hard-link', told: '2 hard links' },
        { kind: 'ipc-too-large', told: 'at most 1048576 are allowed' },
        { kind: 'ipc-directory', told: 'a directory' },
      ]);
      expect(reply.match(/"ok":false/g)).toHaveLength(ids.length);
    },
  );
});

describe('a request that claims to be somebody else’s', () => {
  const FORGED = { sender: 'owner', senderId: '1', tier: 'main', folder: 'main', group: 'local:main', isMain: true };

  it.each(['lobby', 'friends'])('by its fields is refused as a whole in %s', async (folder) => {
    const forged = Object.entries(FORGED).map(([field, value]) =>
      request({ type: 'message', id: `f-${field}`, text: 'x', [field]: value }),
    );
    const { reply } = await ground.probe(folder, forged.join('; echo; '), [
      { kind: 'ipc-invalid-request', told: 'Unrecognized key', count: forged.length },
    ]);
    const answers = reply.split('\n').filter((line) => line.includes('"ok":false'));
    expect(answers).toHaveLength(forged.length);
    for (const field of Object.keys(FORGED)) expect(reply).toContain(`\\"${field}\\"`);
  });

  it.each([
    ['lobby', 'message', { text: 'x' }],
    ['friends', 'message', { text: 'x' }],
    ['lobby', 'send_file', { path: '/workspace/group/CLAUDE.md' }],
    ['friends', 'send_file', { path: '/workspace/group/CLAUDE.md' }],
  ])('by another chat’s id is refused in %s (%s)', async (folder, type, more) => {
    await ground.probe(folder, request({ type, id: 'o1', chat: 'local:main', ...more }), [
      { kind: 'request-refused', told: 'may address only itself', count: 1 },
    ]);
  });
});

describe('a request for a right that untrusted chats lack', () => {
  it.each([
    ['schedule_task', 'may not schedule'],
    ['pause_task', 'may not schedule'],
    ['cancel_task', 'may not schedule'],
    ['update_task', 'may not schedule'],
    ['register_group', 'may not manage groups'],
    ['set_tier', 'may not manage groups'],
    ['promote_staging', 'may not promote'],
    ['github_backup', 'may not run scripts'],
    ['become_main', 'unknown request kind'],
  ])('(%s) is refused, recorded and answered, from messages/ too', async (type, reason) => {
    const asked = request({ type, id: 'q1', group: 'local:lobby', prompt: 'x' });
    const refused = [{ kind: 'request-refused', told: reason, count: 1 }] as const;
    expect((await ground.probe('lobby', asked, refused)).reply).toContain('"ok":false');
  });
});
