import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateText, streamText } from 'ai';
import { describe, expect, it } from 'vitest';
import { configFor, openSession, sendEvents, startGateway, startRelay, startUpstream } from './setup.ts';

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
