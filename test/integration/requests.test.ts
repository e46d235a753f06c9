import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Installation, install } from './installation.ts';

/** Writes a request file as any process in a container can, waits for the answer, prints it. */
const ask = (directory: string, request: Record<string, unknown>): string =>
  `run: cd /workspace/ipc && echo '${JSON.stringify(request)}' > ${directory}/.t && mv ${directory}/.t ${directory}/r.json; ` +
  `for i in $(seq 50); do [ -s input/${request.id}.json ] && break; sleep 0.1; done; cat input/${request.id}.json`;

describe('requests of a container', () => {
  let installation: Installation;
  const audit = (): Promise<string> => readFile(installation.home.auditFile, 'utf8');

  beforeAll(async () => {
    installation = await install();
  });
  afterAll(() => installation?.close());

  it('may send into the own chat', async () => {
    const { messages } = await installation.say('lobby', 'say: an extra word');
    expect(messages[0]).toBe('an extra word');
    expect(messages).toHaveLength(2);
  });

  it.each(['lobby', 'friends'])('may not address another chat from %s: refused, audited, told', async (folder) => {
    const { reply } = await installation.say(
      folder,
      ask('messages', { type: 'message', id: `x-${folder}`, text: 'hi', chat: 'local:main' }),
    );
    expect(reply).toContain('"ok":false');
    expect(reply).toContain('may address only itself');
    expect(await audit()).toMatch(new RegExp(`request-refused.*local:${folder}`));
  });

  it('may address any registered chat from main, and no other', async () => {
    const { reply } = await installation.say(
      'main',
      ask('messages', { type: 'message', id: 'm1', text: 'hi', chat: 'local:lobby' }),
    );
    expect(reply).toContain('"ok":true');
    const { reply: refused } = await installation.say(
      'main',
      ask('messages', { type: 'message', id: 'm2', text: 'hi', chat: 'local:nowhere' }),
    );
    expect(refused).toContain('not a registered chat');
  });

  it.each([
    ['lobby', 'messages', 'may not schedule tasks'],
    ['friends', 'tasks', 'available yet'],
  ])('of a kind that isn’t built are refused with a reason in %s', async (folder, directory, reason) => {
    const { reply } = await installation.say(folder, ask(directory, { type: 'schedule_task', id: 's1', prompt: 'x' }));
    expect(reply).toContain(reason);
  });

  it('have no tasks/ and no writable input/ in the untrusted tier', async () => {
    const { reply } = await installation.say(
      'lobby',
      'run: ls /workspace/ipc; touch /workspace/ipc/input/x; mkdir /workspace/ipc/tasks',
    );
    expect(reply).not.toMatch(/^tasks$/m);
    expect(reply).toContain("cannot touch '/workspace/ipc/input/x': Read-only file system");
    expect(reply).toContain('cannot create directory ‘/workspace/ipc/tasks’: Read-only file system');
  });

  it('find the snapshots in the whole layout: all groups in main, the own in trusted', async () => {
    const show = 'run: cat /workspace/ipc/available_groups.json';
    expect((await installation.say('main', show)).reply).toMatch(
      /local:main.*local:friends|local:friends.*local:main/s,
    );
    const { reply } = await installation.say('friends', show);
    expect(reply).toContain('local:friends');
    expect(reply).not.toContain('local:main');
  });
});
