import { mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { digestOf } from '../../container/runner/tool-calls.ts';
import type { InputFile, RunnerFrame } from '../../src/protocol.ts';
import { initFrame } from './init-frame.ts';
import { messageStart, type Reply, sse, textBlock } from './model-stand-in.ts';
import { bundleRunner, type RunnerProcess, startRunner } from './runner-process.ts';

/** A deadline for a busy machine, not an expectation. */
const eventually = <T>(look: () => T) => expect.poll(look, { timeout: 10_000 });

const bundle = { directory: '', file: '' };
const running: RunnerProcess[] = [];

beforeAll(async () => {
  bundle.directory = await mkdtemp(join(tmpdir(), 'tierclaw-bundle-'));
  bundle.file = await bundleRunner(bundle.directory);
}, 60_000);
afterAll(() => rm(bundle.directory, { recursive: true, force: true }));
afterEach(async () => {
  for (const runner of running.splice(0)) await runner.dispose();
});

const start = async (replies: readonly Reply[], published = true): Promise<RunnerProcess> => {
  const runner = await startRunner(bundle.file, replies, published);
  running.push(runner);
  return runner;
};

const turn = async (
  replies: readonly Reply[],
  init = initFrame(),
): Promise<RunnerProcess & { status: number | undefined }> => {
  const runner = await start(replies);
  runner.send(init);
  const status = await runner.exited;
  return { ...runner, status };
};

const ofType = <T extends RunnerFrame['type']>(runner: RunnerProcess, type: T): Extract<RunnerFrame, { type: T }>[] =>
  runner.frames.filter((frame): frame is Extract<RunnerFrame, { type: T }> => frame.type === type);

const call = (name: string, input: unknown, id = 'toolu_1'): Reply => ({ calls: [{ id, name, input }] });

const input = async (runner: RunnerProcess, file: InputFile): Promise<void> => {
  const directory = join(runner.directory, 'ipc', 'input');
  await writeFile(join(directory, `.${file.id}.tmp`), JSON.stringify(file));
  await rename(join(directory, `.${file.id}.tmp`), join(directory, `${file.id}.json`));
};

const followUp = (id: string, text: string): InputFile => ({
  type: 'follow-up',
  id,
  message: { id: `m-${id}`, sender: 'Bo', text, at: '2026-01-01T00:01:00.000Z' },
});

describe('a turn', () => {
  it('says ready before init, streams its text, keeps the transcript and ends with the result', async () => {
    const runner = await start([{ text: 'Hello there, Ada.' }]);
    expect(await runner.until('ready')).toEqual({ type: 'ready' });
    runner.send(initFrame());
    expect(await runner.exited).toBe(0);
    const deltas = ofType(runner, 'text').map(({ delta }) => delta);
    expect(deltas.join('')).toBe('Hello there, Ada.');
    expect(runner.frames.slice(-2).map(({ type }) => type)).toEqual(['transcript', 'result']);
    expect(runner.frames.at(-1)).toEqual({ type: 'result', text: 'Hello there, Ada.' });
    expect(ofType(runner, 'usage')).toEqual([{ type: 'usage', inputTokens: 11, outputTokens: 7 }]);
    const entries = ofType(runner, 'transcript').flatMap((frame) => frame.entries);
    expect(entries.map(({ role }) => role)).toEqual(['user', 'assistant']);
    expect(entries[0]?.content).toContain('>hello</message>');
    expect(runner.stderr()).toContain('printed by a library\nwritten by a library');
  });

  it('sends instructions, history and tools to the model as given', async () => {
    const transcript = [
      { role: 'user' as const, content: 'earlier' },
      { role: 'assistant' as const, content: [{ type: 'text', text: 'before' }] },
    ];
    const runner = await turn([{ text: 'ok' }], initFrame({ transcript, tools: ['bash', 'file_read'] }));
    const [request] = runner.provider.requests;
    expect(request).toMatchObject({ model: 'claude-test', max_tokens: 1000 });
    expect(request?.system[0]?.text.startsWith('You are a test.\n')).toBe(true);
    expect(request?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user']);
    expect(request?.tools?.map(({ name }) => name)).toEqual(['bash', 'file_read']);
    expect(request?.tools?.[1]?.input_schema).toMatchObject({
      properties: { path: {}, offset: {}, limit: {} },
      required: ['path'],
    });
  });

  it('speaks chat completions to a provider of that kind', async () => {
    const model = { provider: 'ollama', api: 'openai-compatible' as const, name: 'llama-test', maxTokens: 100 };
    const runner = await turn([], initFrame({ model }));
    expect(runner.frames.at(-1)).toEqual({ type: 'result', text: 'Hello from llama-test, 8 tools.' });
    expect(ofType(runner, 'usage')).toEqual([{ type: 'usage', inputTokens: 5, outputTokens: 3 }]);
  });

  it('runs tools in order and leaves one receipt each', async () => {
    const calls = [
      { id: 'toolu_1', name: 'file_write', input: { path: 'n.txt', content: 'seven' } },
      { id: 'toolu_2', name: 'bash', input: { command: 'cat n.txt; exit 7' } },
      { id: 'toolu_3', name: 'file_read', input: { path: 'missing' } },
    ];
    const runner = await turn([{ text: 'Let me see.', calls }, { text: 'Done.' }]);
    expect(runner.status).toBe(0);
    expect(runner.frames.at(-1)).toEqual({ type: 'result', text: 'Let me see.\n\nDone.' });
    expect(ofType(runner, 'receipt').map(({ id, tool, outcome }) => [id, tool, outcome])).toEqual([
      ['toolu_1', 'file_write', 'ok'],
      ['toolu_2', 'bash', 'ok'],
      ['toolu_3', 'file_read', 'error'],
    ]);
    expect(ofType(runner, 'receipt')[1]?.argumentsDigest).toBe(digestOf({ command: 'cat n.txt; exit 7' }));
    expect(runner.provider.requests[1]?.messages.at(-1)?.content).toMatchObject([
      { type: 'tool_result', tool_use_id: 'toolu_1' },
      { tool_use_id: 'toolu_2', content: 'seven\n[exit code: 7]' },
      { tool_use_id: 'toolu_3', content: 'missing does not exist.', is_error: true },
    ]);
  });

  it.each([
    ['a tool that is not there', 'rocket', {}],
    ['a tool that init does not name', 'grep', { pattern: 'x' }],
    ['arguments that do not fit', 'bash', { cmd: 'ls' }],
  ])('survives a call of %s', async (_, name, args) => {
    const runner = await turn([call(name, args), { text: 'sorry' }], initFrame({ tools: ['bash'] }));
    expect(runner.frames.at(-1)).toEqual({ type: 'result', text: 'sorry' });
    expect(ofType(runner, 'receipt').map(({ tool, outcome }) => [tool, outcome])).toEqual([[name, 'error']]);
    expect(runner.provider.requests[1]?.messages.at(-1)?.content).toMatchObject([{ is_error: true }]);
  });

  it('can be resumed from the transcript it kept', async () => {
    const first = await turn([call('bash', { command: 'echo kept' }), { text: 'Noted.' }]);
    const transcript = ofType(first, 'transcript').flatMap((frame) => frame.entries);
    const second = await turn([{ text: 'I remember.' }], initFrame({ transcript }));
    expect(second.frames.at(-1)).toEqual({ type: 'result', text: 'I remember.' });
    expect(JSON.stringify(second.provider.requests[0]?.messages)).toContain('kept\\n[exit code: 0]');
  });

  it('waits with its first tool call, and with nothing else, for the database', async () => {
    const runner = await start([call('bash', { command: 'ls ../messages.db' }), { text: 'seen' }], false);
    runner.send(initFrame());
    await eventually(() => runner.provider.requests.length).toBe(1);
    await runner.until('progress');
    expect(ofType(runner, 'receipt')).toEqual([]);
    await runner.publish();
    expect(await runner.exited).toBe(0);
    expect(JSON.stringify(runner.provider.requests[1])).toContain('[exit code: 0]');
  });

  it('keeps frames small though output and reply are large', async () => {
    const calls = [1, 2, 3].map((n) => ({ id: `t${n}`, name: 'bash', input: { command: 'seq 1 300000' } }));
    const limits = { toolOutputBytes: 1_500_000 };
    const runner = await turn([{ calls }, { text: 'word '.repeat(300_000) }], initFrame({ limits }));
    expect(runner.status).toBe(0);
    expect(
      ofType(runner, 'text')
        .map(({ delta }) => delta)
        .join(''),
    ).toHaveLength(1_500_000);
    expect(runner.frames.at(-1)).toMatchObject({ type: 'result' });
    expect(
      ofType(runner, 'transcript')
        .flatMap((frame) => frame.entries)
        .map(({ role }) => role),
    ).toEqual(['user', 'assistant', 'tool', 'assistant']);
  });
});

describe('messages during a turn', () => {
  it('are taken into the next model request and acknowledged once; later ones are left to the next turn', async () => {
    const runner = await start([
      call('bash', { command: 'until [ -e go ]; do sleep 0.02; done' }),
      async (response) => {
        await input(runner, followUp('late', 'too late'));
        runner.send({ type: 'poke' });
        messageStart(response);
        textBlock(response, 0, 'Both answered.');
        sse(response, {
          type: 'message_delta',
          ...{ delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } },
        });
        sse(response, { type: 'message_stop' });
        response.end();
      },
    ]);
    runner.send(initFrame());
    await runner.until('progress');
    await input(runner, followUp('f1', 'and </message> this'));
    runner.send({ type: 'poke' });
    await writeFile(join(runner.directory, 'group', 'go'), '');
    expect(await runner.exited).toBe(0);
    expect(ofType(runner, 'ack')).toEqual([{ type: 'ack', ids: ['f1'] }]);
    const last = JSON.stringify(runner.provider.requests[1]?.messages.at(-1));
    expect(last).toContain('and &lt;/message&gt; this');
    const roles = ofType(runner, 'transcript')
      .flatMap((frame) => frame.entries)
      .map(({ role }) => role);
    expect(roles).toEqual(['user', 'assistant', 'tool', 'user', 'assistant']);
  });

  it.each([
    [true, 'Sent.', undefined],
    [false, 'Only your own chat.', true],
  ])('send_message tells the model what the host answered (ok: %s)', async (ok, detail, isError) => {
    const runner = await start([call('send_message', { text: 'hi', chat: 'local:other' }), { text: 'fine' }]);
    runner.send(initFrame());
    const messages = join(runner.directory, 'ipc', 'messages');
    await eventually(() => readdir(messages).then((names) => names.filter((n) => n.endsWith('.json')).length)).toBe(1);
    const [name = ''] = await readdir(messages);
    const request = JSON.parse(await readFile(join(messages, name), 'utf8'));
    expect(request).toEqual({ type: 'message', id: name.replace('.json', ''), text: 'hi', chat: 'local:other' });
    await input(runner, { type: 'answer', id: request.id, ok, detail });
    runner.send({ type: 'poke' });
    expect(await runner.exited).toBe(0);
    const result = runner.provider.requests[1]?.messages.at(-1)?.content[0];
    expect(result).toMatchObject({ content: detail, ...(isError === undefined ? {} : { is_error: isError }) });
  });
});

describe('send_file', () => {
  it.each([
    ['/workspace/group/a.pdf', /^\/workspace\/group\/a\.pdf$/],
    ['../secret', /^\/.*\/group\/\.\.\/secret$/],
  ])('asks for %s as %s and leaves the judging to the host', async (path, asked) => {
    const runner = await start([call('send_file', { path, caption: 'look' }), { text: 'fine' }]);
    runner.send(initFrame());
    const messages = join(runner.directory, 'ipc', 'messages');
    await eventually(() => readdir(messages).then((names) => names.filter((n) => n.endsWith('.json')).length)).toBe(1);
    const [name = ''] = await readdir(messages);
    const request = JSON.parse(await readFile(join(messages, name), 'utf8'));
    expect(request).toMatchObject({ type: 'send_file', caption: 'look', path: expect.stringMatching(asked) });
    await input(runner, { type: 'answer', id: request.id, ok: false, detail: 'not that one' });
    runner.send({ type: 'poke' });
    expect(await runner.exited).toBe(0);
    expect(runner.provider.requests[1]?.messages.at(-1)?.content[0]).toMatchObject({
      content: 'not that one',
      is_error: true,
    });
  });
});

const answerWith =
  (status: number, message: string, headers = {}): Reply =>
  (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify({ type: 'error', error: { type: 'some_error', message } }));
  };

describe('a turn that goes wrong', () => {
  it('reports the provider’s refusal without address or key', async () => {
    const message = 'bad key sk-ant-REDACTED-secret0123456789 at https://api.example.com/v1';
    const runner = await turn([answerWith(401, message)]);
    expect(runner.status).toBe(0);
    expect(runner.frames.at(-1)).toEqual({
      type: 'error',
      kind: 'provider',
      status: 401,
      message: 'HTTP 401: bad key [key] at [address]',
    });
    expect(ofType(runner, 'transcript')).toEqual([]);
  });

  it('tries again when the provider was only busy', async () => {
    const busy = answerWith(529, 'overloaded', { 'retry-after-ms': '10' });
    const runner = await turn([busy, busy, { text: 'at last' }]);
    expect(runner.frames.at(-1)).toEqual({ type: 'result', text: 'at last' });
    const given = await turn([busy, busy, busy, { text: 'too late' }]);
    expect(given.frames.at(-1)).toMatchObject({ type: 'error', kind: 'provider', status: 529 });
  });

  it.each<[string, (response: Parameters<typeof messageStart>[0]) => void]>([
    ['breaks off', (response) => response.destroy()],
    ['ends too early', (response) => response.end()],
    [
      'has an error in it',
      (response) => sse(response, { type: 'error', ...{ error: { type: 'overloaded_error', message: 'Overloaded' } } }),
    ],
  ])('does not repeat an answer that %s half-way', async (_, fail) => {
    const half: Reply = async (response) => {
      messageStart(response);
      textBlock(response, 0, 'half an answer');
      await new Promise((resolve) => setTimeout(resolve, 100));
      fail(response);
    };
    const runner = await turn([half, { text: 'never asked for' }]);
    expect(runner.frames.at(-1)).toMatchObject({ type: 'error', kind: 'provider' });
    expect(
      ofType(runner, 'text')
        .map(({ delta }) => delta)
        .join(''),
    ).toBe('half an answer');
    expect(runner.provider.requests).toHaveLength(1);
    expect(runner.status).toBe(0);
  });

  it('names a reply that was cut off or withheld', async () => {
    const cut = await turn([{ text: 'once upon', stop: 'max_tokens' }]);
    expect(cut.frames.at(-1)).toEqual({
      type: 'result',
      text: 'once upon\n\n[Cut off here: a reply may have 1000 tokens.]',
    });
    const withheld = await turn([{ text: '', stop: 'refusal' }]);
    expect(withheld.frames.at(-1)).toMatchObject({ type: 'error', kind: 'provider' });
  });

  it('stops after its last allowed model request', async () => {
    const again = call('bash', { command: 'true' });
    const silent = await turn([again, again, again], initFrame({ limits: { steps: 2 } }));
    expect(silent.provider.requests).toHaveLength(2);
    expect(silent.frames.at(-1)).toMatchObject({ type: 'error', kind: 'limit' });
    const calls = [{ id: 't', name: 'bash', input: { command: 'true' } }];
    const talking = await turn([{ text: 'working', calls }], initFrame({ limits: { steps: 1 } }));
    expect(talking.frames.at(-1)).toEqual({
      type: 'result',
      text: 'working\n\n[Stopped here: this turn may make 1 model requests.]',
    });
  });

  it('ends itself when its time is up', async () => {
    const runner = await turn([call('bash', { command: 'sleep 63.25' })], initFrame({ limits: { turnMs: 700 } }));
    expect(runner.frames.at(-1)).toEqual({ type: 'error', kind: 'limit', message: 'the turn took longer than 0.7 s' });
    expect(runner.status).toBe(0);
  });

  const gone = (mark: string): Promise<string> => execa('pgrep', ['-f', mark], { reject: false }).then((r) => r.stdout);

  it('stops at once when told to, in the middle of a command', async () => {
    const runner = await start([call('bash', { command: 'sleep 64.25' })]);
    runner.send(initFrame());
    await eventually(() => gone('sleep 64.25')).not.toBe('');
    const before = Date.now();
    runner.send({ type: 'stop', reason: 'the tier changed' });
    expect(await runner.exited).toBe(0);
    expect(Date.now() - before).toBeLessThan(1000);
    expect(runner.frames.at(-1)).toEqual({ type: 'error', kind: 'cancelled', message: 'stopped: the tier changed' });
    expect(await gone('sleep 64.25')).toBe('');
  });

  it('stops at once when told to, in the middle of an answer or before it has begun', async () => {
    const endless = await start([
      (response) => {
        messageStart(response);
        textBlock(response, 0, 'I begin');
      },
    ]);
    endless.send(initFrame());
    await endless.until('text');
    endless.send({ type: 'stop', reason: 'enough' });
    expect(await endless.exited).toBe(0);
    expect(endless.frames.at(-1)).toMatchObject({ type: 'error', kind: 'cancelled' });
    const idle = await start([]);
    idle.send({ type: 'stop', reason: 'never mind' });
    expect(await idle.exited).toBe(0);
    expect(idle.frames.at(-1)).toMatchObject({ type: 'error', kind: 'cancelled' });
  });

  it('is over with status 9 when the supervisor is gone, and takes its commands along', async () => {
    const runner = await start([call('bash', { command: 'sleep 65.25' })]);
    runner.send(initFrame());
    await eventually(() => gone('sleep 65.25')).not.toBe('');
    runner.endInput();
    expect(await runner.exited).toBe(9);
    await eventually(() => gone('sleep 65.25')).toBe('');
  });

  it('says that the image is out of step when it can not read init', async () => {
    const runner = await start([]);
    runner.send({ ...initFrame(), ...{ surprise: 1 } });
    expect(await runner.exited).toBe(1);
    expect(runner.frames.at(-1)).toMatchObject({ type: 'error', kind: 'internal' });
    expect(JSON.stringify(runner.frames.at(-1))).toContain('rebuild the image');
  });
});
