/** Directories that a container writes and the host uses: replaced, filled, planted with links; then the next turn. */
import { existsSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Ground, NOTHING_REFUSED, prepareGround, request } from './hostile.ts';

let ground: Ground;
beforeAll(async () => {
  ground = await prepareGround();
});
afterAll(() => ground?.close());

const trash = () => readdirSync(ground.installation.home.trash);
const written = (folder: string): string[] => {
  const directory = join(ground.installation.home.ipc, folder);
  return existsSync(directory) ? readdirSync(directory) : [];
};

const expectSwept = async (folder: string): Promise<void> => {
  await expect.poll(() => [...written(folder), ...trash()], { timeout: 30_000 }).toEqual([]);
};

describe('the layout of /workspace/ipc', () => {
  const look =
    'cd /workspace/ipc; ls -A | tr "\\n" " "; echo; ' +
    'for d in . messages input tasks; do if touch $d/t 2>/dev/null; then echo "$d: writable"; else echo "$d: no"; fi; done';

  it('is two directories in untrusted, one of them writable', async () => {
    const { reply } = await ground.probe('lobby', look, NOTHING_REFUSED);
    expect(reply.split('\n').slice(0, 5)).toEqual([
      'input messages ',
      '.: no',
      'messages: writable',
      'input: no',
      'tasks: no',
    ]);
  });

  it.each(['friends', 'main'])('is whole and writable in %s', async (folder) => {
    const { reply } = await ground.probe(folder, look, NOTHING_REFUSED);
    expect(reply.split('\n').slice(0, 5)).toEqual([
      'available_groups.json current_tasks.json input messages tasks ',
      '.: writable',
      'messages: writable',
      'input: writable',
      'tasks: writable',
    ]);
  });
});

describe.each(['friends', 'main'])('in %s', (folder) => {
  it('messages, tasks and input replaced by links lead nowhere, in this turn and the next', async () => {
    const replace =
      'cd /workspace/ipc; for d in messages tasks input; do mv $d .old-$d; ' +
      `ln -s ${ground.outside}/tree $d; done; ` +
      `rm -f available_groups.json; ln -s ${ground.outside}/secret.txt available_groups.json; ` +
      `printf '{"type":"message","id":"r1","text":"from the original"}' > .old-messages/r1.json; ` +
      'for i in $(seq 50); do [ -s .old-input/r1.json ] && break; sleep 0.1; done; cat .old-input/r1.json';
    const turn = await ground.probe(folder, replace, NOTHING_REFUSED);
    expect(turn.reply).toContain('"ok":true');
    expect(turn.messages).toContain('from the original');
    await expectSwept(folder);
    const next = await ground.probe(folder, request({ type: 'message', id: 'n1', text: 'next' }), NOTHING_REFUSED);
    expect(next.reply).toContain('"ok":true');
  });

  it('directories deleted and made anew as files are the container’s own loss', async () => {
    const turn = await ground.probe(
      folder,
      'cd /workspace/ipc; rm -rf * ; for d in messages tasks input; do echo x > $d; done',
      NOTHING_REFUSED,
    );
    expect(turn.done.reason).toBe('completed');
    await expectSwept(folder);
    expect((await ground.installation.say(folder, 'say: hello')).messages).toContain('hello');
  });

  it('links in the group folder are neither read nor followed by the next turn, and said to the agent', async () => {
    const plant = `ln -sfn /etc/shadow CLAUDE.md; ln -sfn /etc inbox; ln -sfn ${ground.outside} logs; ln -sfn ${ground.outside}/tree .git`;
    await ground.probe(folder, `rm -rf CLAUDE.md; ${plant}`, NOTHING_REFUSED);
    await ground.ask(folder, 'instructions:', [
      { kind: 'instructions-refused', told: /could not be used: .*symbolic link/, count: 1 },
    ]);
    const last = await ground.probe(folder, 'ls -l; rm -f CLAUDE.md inbox logs .git', NOTHING_REFUSED);
    expect(last.done.reason).toBe('completed');
    expect(last.reply).toContain('CLAUDE.md -> /etc/shadow');
  });

  it.each([
    ['a FIFO', 'mkfifo CLAUDE.md', 'not a regular file'],
    ['a directory', 'mkdir CLAUDE.md', 'a directory'],
    ['a sparse file of 5 GB', 'truncate -s 5G CLAUDE.md', 'at most 262144'],
    ['a hard link', 'echo x > .x; ln .x CLAUDE.md', '2 hard links'],
  ])('%s for the group’s instructions holds nobody up', async (_, plant, words) => {
    await ground.probe(folder, `rm -rf CLAUDE.md; ${plant}`, NOTHING_REFUSED);
    const told = new RegExp(`could not be used: .*${words}`);
    await ground.ask(folder, 'instructions:', [{ kind: 'instructions-refused', told, count: 1 }]);
    const last = await ground.probe(folder, 'rm -rf CLAUDE.md .x; echo served', NOTHING_REFUSED);
    expect(last.done.reason).toBe('completed');
  });

  it('links in the agent’s workspace and the shared memory change no owner and no mode', async () => {
    const plant = (directory: string) =>
      `cd ${directory}; ln -sfn /etc etc; ln -sfn ${ground.outside}/tree memory; ln -sfn ${ground.outside}/secret.txt notes.md`;
    await ground.probe(folder, `${plant('/workspace/agent')}; ${plant('/workspace/trusted')}`, NOTHING_REFUSED);
    const next = await ground.probe(
      folder,
      'cd /workspace/agent; ls; rm etc memory notes.md; cd /workspace/trusted; rm etc memory notes.md',
      NOTHING_REFUSED,
    );
    expect(next.reply).toContain('notes.md');
  });

  it('a deep and wide tree in the inbox ends the turn, and is taken away behind the back of the loop', async () => {
    const grow = `cd /workspace/ipc && python3 -c '
import os
for i in range(100):
  os.makedirs("wide/%d" % i)
  for j in range(200): open("wide/%d/%d" % (i, j), "w").close()
p = "deep"
os.mkdir(p)
os.chdir(p)
for i in range(3000):
  os.mkdir("d"); os.chdir("d")
print("grown")'; sleep 60`;
    await ground.probe(folder, grow, [
      { kind: 'quota-exceeded', told: { ended: 'it wrote more than a turn may write' } },
    ]);
    await expectSwept(folder);
  });
});

describe('a link for the public persona, planted by main', () => {
  it('stops untrusted turns instead of being read, and nobody else’s', async () => {
    const persona = join(ground.installation.home.global, 'SOUL-untrusted.md');
    const text = readFileSync(persona, 'utf8');
    renameSync(persona, `${persona}.kept`);
    try {
      await ground.probe('main', 'ln -s /etc/shadow /workspace/global/SOUL-untrusted.md', NOTHING_REFUSED);
      const turn = await ground.installation.say('lobby', 'run: cat /workspace/global/SOUL.md');
      const { done, messages } = turn;
      // There is no agent to be told: the turn doesn't start, and its chat hears that.
      expect(await ground.recorded(turn)).toContainEqual(expect.objectContaining({ kind: 'instructions-refused' }));
      expect(messages.join()).toContain('not set up right');
      expect(done.reason).toBe('failed');
      expect(done.detail).toContain('symbolic link');
      expect(messages.join()).not.toContain('root:');
    } finally {
      rmSync(persona, { force: true });
      renameSync(`${persona}.kept`, persona);
    }
    const { reply } = await ground.probe('lobby', 'cat /workspace/global/SOUL.md', NOTHING_REFUSED);
    expect(reply).toContain(text.trim().split('\n')[0]);
  });
});
