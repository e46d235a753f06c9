import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import Anthropic from '@anthropic-ai/sdk';
import { generateText, stepCountIs, streamText, tool } from 'ai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { configFor, openSession, post, sendEvents, startGateway, startRelay, startUpstream } from './setup.ts';

const MODEL = 'rehearsal-1';

const start = async () => {
  const { gateway } = startGateway({});
  const opened = await openSession(gateway, { provider: 'rehearsal', models: [MODEL] });
  const url = `${await startRelay(opened.socketPath)}/model/rehearsal`;
  const anthropic = new Anthropic({ baseURL: url, apiKey: 'placeholder', maxRetries: 0 });
  const model = createAnthropic({ baseURL: `${url}/v1`, apiKey: 'placeholder' })(MODEL);
  return { ...opened, anthropic, model };
};

const userText = (text: string): Anthropic.MessageParam => ({ role: 'user', content: text });

const toolNamed = (name: string): Anthropic.Tool => ({ name, input_schema: { type: 'object' } });

const bash = tool({
  description: 'runs a command',
  inputSchema: z.object({ command: z.string() }),
  execute: async ({ command }) => `ran <${command}>\nexit code 0`,
});

describe('with Anthropic’s own library the rehearsal model', () => {
  it('says what it is, streamed and not', async () => {
    const { anthropic, session } = await start();
    const ask = { model: MODEL, max_tokens: 1000, messages: [userText('hello')] };
    const whole = await anthropic.messages.create(ask);
    const streamed = await anthropic.messages.stream(ask).finalMessage();
    expect(whole).toMatchObject({ type: 'message', role: 'assistant', stop_reason: 'end_turn' });
    expect(streamed.content).toEqual(whole.content);
    expect(streamed.usage.output_tokens).toBe(whole.usage.output_tokens);
    expect(whole.content[0]).toMatchObject({ text: expect.stringContaining('not a language model') });
    const { inputTokens, outputTokens } = session.use();
    expect([inputTokens, outputTokens]).toEqual([2 * whole.usage.input_tokens, 2 * whole.usage.output_tokens]);
  });

  it.each<[string, string, object]>([
    ['run: ls -la | head', 'bash', { command: 'ls -la | head' }],
    ['RUN:ls', 'bash', { command: 'ls' }],
    ['run: for i in 1 2\ndo echo $i\ndone', 'bash', { command: 'for i in 1 2\ndo echo $i\ndone' }],
    ['read: /workspace/a b.txt', 'file_read', { path: '/workspace/a b.txt' }],
    ['write: /tmp/x one two\nthree', 'file_write', { path: '/tmp/x', content: 'one two\nthree' }],
    ['edit: /tmp/x old text => new', 'file_edit', { path: '/tmp/x', old_text: 'old text', new_text: 'new' }],
    ['glob: **/*.md', 'glob', { pattern: '**/*.md' }],
    ['grep: needle', 'grep', { pattern: 'needle' }],
    ['say: hello all', 'send_message', { text: 'hello all' }],
    ['remember: tea', 'memory_store', { content: 'tea' }],
    ['recall: tea', 'memory_recall', { query: 'tea' }],
    ['schedule: 0 9 * * 1 | report', 'schedule_task', { when: '0 9 * * 1', prompt: 'report' }],
    ['send-file: out.pdf', 'send_file', { path: 'out.pdf' }],
    [
      '<message from="Ann" at="2026-01-01">run: echo a &amp;&amp; echo &lt;b&gt;</message>',
      'bash',
      { command: 'echo a && echo <b>' },
    ],
    ['New messages:\n  run: date\nThanks', 'bash', { command: 'date' }],
  ])('answers %j by asking for %s', async (text, name, input) => {
    const { anthropic } = await start();
    const ask = { model: MODEL, max_tokens: 1000, messages: [userText(text)] };
    const offered = { ...ask, tools: [toolNamed(name)] };
    for (const message of [
      await anthropic.messages.create(offered),
      await anthropic.messages.stream(offered).finalMessage(),
    ]) {
      expect(message.stop_reason).toBe('tool_use');
      expect(message.content).toEqual([{ type: 'tool_use', id: expect.any(String), name, input }]);
    }
    const without = await anthropic.messages.create(ask);
    expect(without.content).toEqual([{ type: 'text', text: `no such tool here: ${name}` }]);
  });

  it('asks for one tool per message when there are several, and answers with all results', async () => {
    const { anthropic } = await start();
    const messages = [userText('<message from="A">run: a</message>\n<message from="B">run: b</message>')];
    const ask = { model: MODEL, max_tokens: 1000, tools: [toolNamed('bash')] };
    const first = await anthropic.messages.create({ ...ask, messages });
    const uses = first.content.filter((block) => block.type === 'tool_use');
    expect(uses.map(({ input }) => input)).toEqual([{ command: 'a' }, { command: 'b' }]);
    const results = uses.map(({ id }, index) => ({
      type: 'tool_result' as const,
      tool_use_id: id,
      content: `out ${index}`,
    }));
    const then = [
      ...messages,
      { role: 'assistant' as const, content: first.content },
      { role: 'user' as const, content: results },
    ];
    const second = await anthropic.messages.create({ ...ask, messages: then });
    expect(second.content).toEqual([{ type: 'text', text: 'out 0\nout 1' }]);
  });

  it('counts tokens, keeps to max_tokens, fails as told', async () => {
    const { anthropic } = await start();
    const counted = await anthropic.messages.countTokens({ model: MODEL, messages: [userText('hello')] });
    expect(counted.input_tokens).toBeGreaterThan(5);
    const short = await anthropic.messages.create({ model: MODEL, max_tokens: 2, messages: [userText('hello')] });
    expect(short).toMatchObject({ stop_reason: 'max_tokens', content: [{ text: 'I am the' }] });
    const failing = anthropic.messages.create({ model: MODEL, max_tokens: 9, messages: [userText('fail: 529')] });
    await expect(failing).rejects.toMatchObject({ status: 529, type: 'overloaded_error' });
  });

  it('writes slowly as told, and stops when the client leaves', async () => {
    const { anthropic, session } = await start();
    const ask = { model: MODEL, max_tokens: 1000, messages: [userText('slow: 0.6')] };
    expect((await anthropic.messages.stream(ask).finalMessage()).content).toEqual([
      { type: 'text', text: 'word1 word2 word3 ' },
    ]);
    const long = anthropic.messages.stream({ ...ask, messages: [userText('slow: 500')] });
    const failed = long.done().catch((thrown: unknown) => thrown);
    await new Promise<void>((resolve) => void long.once('text', () => resolve()));
    await session.close();
    expect(await failed).toBeInstanceOf(Error);
  });
});

describe('with the AI SDK the rehearsal model', () => {
  it('goes through a tool loop, streamed, and answers with the output verbatim', async () => {
    const { model, session } = await start();
    const result = streamText({
      model,
      tools: { bash },
      prompt: 'run: uname',
      stopWhen: stepCountIs(5),
      maxOutputTokens: 500,
    });
    expect(await result.text).toBe('ran <uname>\nexit code 0');
    expect((await result.steps).map(({ finishReason }) => finishReason)).toEqual(['tool-calls', 'stop']);
    expect(session.use().requests).toBe(2);
  });

  it('goes through a tool loop without streaming, with a system prompt and a transcript', async () => {
    const { model } = await start();
    const result = await generateText({
      model,
      system: 'You are helpful.',
      tools: { bash },
      messages: [
        { role: 'user', content: 'run: first' },
        { role: 'user', content: 'run: second' },
      ],
      stopWhen: stepCountIs(5),
      maxOutputTokens: 500,
    });
    expect(result.text).toBe('ran <second>\nexit code 0');
  });
});

describe('the rehearsal model refuses what the real API refuses:', () => {
  const use = { role: 'assistant', content: [{ type: 'tool_use', id: 't1', name: 'bash', input: {} }] };
  const result = { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1', content: 'x' }] };
  const hello = { role: 'user', content: 'hello' };

  it.each<[string, object, string]>([
    ['no messages', { messages: [] }, 'messages'],
    ['another role', { messages: [{ role: 'system', content: 'x' }] }, 'role'],
    ['an empty text', { messages: [{ role: 'user', content: '' }] }, 'messages.0'],
    ['an assistant first', { messages: [{ role: 'assistant', content: 'x' }, hello] }, 'first message'],
    ['an assistant last', { messages: [hello, { role: 'assistant', content: 'x' }] }, 'last message'],
    ['a tool_use without its result', { messages: [hello, use, hello] }, 't1 has no tool_result'],
    [
      'a result without its tool_use',
      { messages: [hello, { role: 'assistant', content: 'x' }, result] },
      't1 has no tool_use',
    ],
    [
      'a result later',
      { messages: [hello, use, hello, { role: 'assistant', content: 'x' }, result] },
      't1 has no tool_result',
    ],
    [
      'a result after a text',
      { messages: [hello, use, { role: 'user', content: [{ type: 'text', text: 'x' }, ...result.content] }] },
      'come first',
    ],
    ['a tool_use of the user', { messages: [{ role: 'user', content: use.content }] }, 'may not be in user'],
    ['an id twice', { messages: [hello, use, result, use, result] }, 'unique'],
    ['an unknown key', { messages: [hello], surprise: 1 }, 'surprise'],
    ['an unknown block', { messages: [{ role: 'user', content: [{ type: 'hologram' }] }] }, 'messages.0'],
  ])('%s', async (_, body, text) => {
    const { socketPath } = await start();
    const answer = await post(socketPath, {
      path: '/model/rehearsal/v1/messages',
      body: { model: MODEL, max_tokens: 9, ...body },
    });
    expect(answer.statusCode).toBe(400);
    expect(await answer.body.json()).toMatchObject({
      type: 'error',
      error: { type: 'invalid_request_error', message: expect.stringContaining(text) },
    });
  });

  it('a request without anthropic-version', async () => {
    const { socketPath } = await start();
    const headers = { 'anthropic-version': '2000-01-01' };
    const body = { model: MODEL, max_tokens: 9, messages: [hello] };
    const answer = await post(socketPath, { path: '/model/rehearsal/v1/messages', headers, body });
    expect([answer.statusCode, await answer.body.text()]).toEqual([400, expect.stringContaining('anthropic-version')]);
  });

  it.each([
    ['temperature', { temperature: 1 }],
    [
      'document',
      { messages: [hello, { role: 'assistant', content: [{ type: 'document', source: { type: 'text' } }] }, hello] },
    ],
    ['citations', { messages: [{ role: 'user', content: [{ type: 'text', text: 'x', citations: [{}] }] }] }],
  ])('%s in the API version that no longer takes it', async (name, change) => {
    const { socketPath } = await start();
    const body = { model: MODEL, max_tokens: 9, messages: [hello], ...change };
    for (const [version, status] of [
      ['2023-06-01', 200],
      ['2026-10-21', 400],
    ] as const) {
      const headers = { 'anthropic-version': version };
      const answer = await post(socketPath, { path: '/model/rehearsal/v1/messages', headers, body });
      const text = await answer.body.text();
      expect(answer.statusCode, text).toBe(status);
      if (status === 400) expect(text).toContain(name);
    }
  });

  it('a body whose structure would hold the loop', async () => {
    const { socketPath } = await start();
    const body = `{"model":"${MODEL}","max_tokens":9,"messages":[${'{},'.repeat(100_000)}{}]}`;
    expect((await post(socketPath, { path: '/model/rehearsal/v1/messages', body })).statusCode).toBe(413);
  });
});

describe('against a recording upstream', () => {
  const chunk = (delta: object, rest: object = {}) => ({
    id: 'c1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'llama',
    choices: [{ index: 0, delta, finish_reason: null }],
    ...rest,
  });

  const local = async (events: readonly object[]) => {
    const upstream = await startUpstream((_, response) => sendEvents(response, events));
    const { gateway } = startGateway({ yaml: configFor(upstream.url) });
    const opened = await openSession(gateway, { provider: 'local', models: ['llama'] });
    const baseURL = `${await startRelay(opened.socketPath)}/model/local`;
    const model = createOpenAICompatible({ name: 'local', baseURL, apiKey: 'placeholder' })('llama');
    return { ...opened, model, upstream };
  };

  it('the AI SDK’s openai-compatible client streams through, and its usage is counted', async () => {
    const usage = { prompt_tokens: 4, completion_tokens: 2, total_tokens: 6 };
    const { model, session, upstream } = await local([
      chunk({ role: 'assistant', content: 'hel' }),
      chunk({ content: 'lo' }),
      chunk({}, { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }),
      chunk({}, { choices: [], usage }),
    ]);
    expect(await streamText({ model, prompt: 'hi' }).text).toBe('hello');
    expect(session.use()).toMatchObject({ requests: 1, inputTokens: 4, outputTokens: 2 });
    const [request] = upstream.received;
    expect(request?.headers.authorization).not.toContain('placeholder');
    expect(JSON.parse(request?.body ?? '')).toMatchObject({
      max_tokens: 8000,
      stream_options: { include_usage: true },
    });
  });

  it('a refusal is told by the client library with the gateway’s words', async () => {
    const { session, socketPath } = await local([]);
    const baseURL = `${await startRelay(socketPath)}/model/local`;
    const other = createOpenAICompatible({ name: 'local', baseURL, apiKey: 'placeholder' })('gpt-forbidden');
    await expect(generateText({ model: other, prompt: 'hi' })).rejects.toThrow('isn’t one of this turn’s: llama');
    expect(session.use()).toMatchObject({ requests: 0, refusals: 1 });
  });

  it('a stream that breaks off fails in the AI SDK’s Anthropic client instead of looking complete', async () => {
    const upstream = await startUpstream((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const message = {
        id: 'm',
        type: 'message',
        role: 'assistant',
        model: 'claude-a',
        content: [],
        usage: { input_tokens: 1, output_tokens: 1 },
      };
      response.write(`event: message_start\ndata: ${JSON.stringify({ type: 'message_start', message })}\n\n`);
      setTimeout(() => response.destroy(), 20);
    });
    const { gateway } = startGateway({ yaml: configFor(upstream.url) });
    const { socketPath } = await openSession(gateway);
    const model = createAnthropic({ baseURL: `${await startRelay(socketPath)}/model/claude/v1`, apiKey: 'x' })(
      'claude-a',
    );
    const errors: unknown[] = [];
    const result = streamText({
      model,
      prompt: 'hi',
      maxOutputTokens: 9,
      onError: ({ error }) => void errors.push(error),
    });
    await result.consumeStream();
    expect(JSON.stringify(errors)).toContain('broke off');
  });
});
