import { createAnthropic } from '@ai-sdk/anthropic';
import Anthropic from '@anthropic-ai/sdk';
import { generateText, stepCountIs, streamText, tool } from 'ai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { openSession, startGateway, startRelay } from './setup.ts';

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

  it('says what it was told, when asked for it', async () => {
    const { anthropic } = await start();
    const ask = { model: MODEL, max_tokens: 1000, messages: [userText('instructions:')] };
    const { content } = await anthropic.messages.create({ ...ask, system: 'You are Ann. Be brief.' });
    expect(content).toEqual([expect.objectContaining({ text: 'You are Ann. Be brief.' })]);
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
