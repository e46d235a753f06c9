import { describe, expect, it } from 'vitest';
import { openSession, post, startGateway } from './setup.ts';

const MODEL = 'rehearsal-1';

const start = () => openSession(startGateway({}).gateway, { provider: 'rehearsal', models: [MODEL] });

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
    const body = `{"model":"${MODEL}","max_tokens":9,"messages":[${'{},'.repeat(20_000)}{}]}`;
    expect((await post(socketPath, { path: '/model/rehearsal/v1/messages', body })).statusCode).toBe(413);
  });
});
