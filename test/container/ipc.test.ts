import { mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Ipc } from '../../container/runner/ipc.ts';
import { IPC_FILE_BYTES_MAX, MessageRequest } from '../../src/protocol.ts';

/** A deadline for a busy machine, not an expectation. */
const eventually = <T>(look: () => T) => expect.poll(look, { timeout: 10_000 });

describe('files between runner and host', () => {
  let directory: string;
  const alive = new AbortController().signal;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'tierclaw-ipc-'));
    await mkdir(join(directory, 'messages'));
    await mkdir(join(directory, 'input'));
  });
  afterEach(() => rm(directory, { recursive: true, force: true }));

  const put = async (name: string, content: unknown): Promise<void> => {
    const temporary = join(directory, 'input', `.${name}.tmp`);
    await writeFile(temporary, typeof content === 'string' ? content : JSON.stringify(content));
    await rename(temporary, join(directory, 'input', name));
  };
  const followUp = (id: string, at: string): unknown => ({
    type: 'follow-up',
    id,
    message: { id: `m-${id}`, sender: 'Ada', text: `text of ${id}`, at },
  });
  const sent = async (): Promise<MessageRequest> => {
    // A temporary name comes first and is renamed: that is what makes the file whole.
    const requests = async () => (await readdir(join(directory, 'messages'))).filter((name) => name.endsWith('.json'));
    await eventually(() => requests().then((names) => names.length)).toBe(1);
    const [name = ''] = await requests();
    return MessageRequest.parse(JSON.parse(await readFile(join(directory, 'messages', name), 'utf8')));
  };

  it('a request is one whole file named by its id, and gets its own answer', async () => {
    const ipc = new Ipc({ directory });
    const asked = ipc.request({ type: 'message', text: 'hi' }, alive);
    const request = await sent();
    expect(await readdir(join(directory, 'messages'))).toEqual([`${request.id}.json`]);
    await put('someone-else.json', { type: 'answer', id: 'someone-else', ok: true, detail: 'not yours' });
    await put(`${request.id}.json`, { type: 'answer', id: request.id, ok: false, detail: 'own chat only' });
    ipc.poke();
    expect(await asked).toEqual({ type: 'answer', id: request.id, ok: false, detail: 'own chat only' });
    expect((await readdir(join(directory, 'input'))).length).toBe(2);
  });

  it('a request without an answer gives up, and an aborted one rejects', async () => {
    const ipc = new Ipc({ directory, answerMsMax: 150 });
    expect(await ipc.request({ type: 'message', text: 'hi' }, alive)).toBeNull();
    await expect(ipc.request({ type: 'message', text: 'hi' }, AbortSignal.abort(new Error('stop')))).rejects.toThrow(
      'stop',
    );
  });

  it('follow-ups are taken once each, oldest first, also by lookers at the same time', async () => {
    const ipc = new Ipc({ directory });
    await put('b.json', followUp('b', '2026-01-01T00:00:02.000Z'));
    await put('a.json', followUp('a', '2026-01-01T00:00:03.000Z'));
    await put('c.json', followUp('c', '2026-01-01T00:00:01.000Z'));
    const [first, second] = await Promise.all([ipc.takeFollowUps(), ipc.takeFollowUps()]);
    expect([...first, ...second].map(({ id }) => id).sort()).toEqual(['a', 'b', 'c']);
    expect(first.map(({ id }) => id)).toEqual(['c', 'b', 'a']);
    await put('d.json', followUp('d', '2026-01-01T00:00:04.000Z'));
    expect((await ipc.takeFollowUps()).map(({ id }) => id)).toEqual(['d']);
    expect(await ipc.takeFollowUps()).toEqual([]);
  });

  it('what is no regular, small, valid file of that name is nobody’s message and blocks nothing', async () => {
    const ipc = new Ipc({ directory });
    await execa('mkfifo', [join(directory, 'input', 'fifo.json')]);
    await writeFile(join(directory, 'elsewhere'), JSON.stringify(followUp('link', '2026')));
    await symlink(join(directory, 'elsewhere'), join(directory, 'input', 'link.json'));
    await mkdir(join(directory, 'input', 'directory.json'));
    await put('half.json', '{"type":"follow');
    await put('other.json', followUp('not-other', '2026'));
    await put('large.json', `${JSON.stringify(followUp('large', '2026'))}${' '.repeat(IPC_FILE_BYTES_MAX)}`);
    await put('bad name.json', followUp('bad name', '2026'));
    await put('good.json', followUp('good', '2026'));
    expect((await ipc.takeFollowUps()).map(({ id }) => id)).toEqual(['good']);
  });

  it('a missing input directory is an empty one', async () => {
    const ipc = new Ipc({ directory: join(directory, 'nowhere') });
    expect(await ipc.takeFollowUps()).toEqual([]);
  });
});
