import { describe, expect, it } from 'vitest';
import { ANSWER, ASK, answerOk, CAPS, post, type Sent, sendJson, start } from './setup.ts';

describe('a request', () => {
  it.each<[string, Sent, number, string]>([
    ['for another provider', { path: '/model/local/chat/completions' }, 403, 'claude'],
    ['for another path', { path: '/model/claude/v1/files' }, 403, 'POST /model/claude/v1/messages'],
    ['for the host API', { path: '/host/db' }, 404, 'nothing'],
    ['with encoded dots', { path: '/model/claude/v1/%2e%2e/x' }, 400, 'characters'],
    ['for another model', { body: { ...ASK, model: 'claude-b' } }, 403, 'claude-a'],
    ['with too many tokens', { body: { ...ASK, max_tokens: 8001 } }, 403, '8000'],
    ['without a token cap', { body: { ...ASK, max_tokens: undefined } }, 400, 'max_tokens'],
    ['that isn’t JSON', { body: 'hello' }, 400, 'JSON'],
    ['with another type', { headers: { 'content-type': 'text/plain' } }, 415, 'application/json'],
    ['that is compressed', { headers: { 'content-encoding': 'gzip' } }, 415, 'compressed'],
    ['that is too large', { body: { ...ASK, x: 'a'.repeat(5 << 20) } }, 413, '4194304'],
    ['that is much too large', { body: { ...ASK, x: 'a'.repeat(30 << 20) } }, 413, '4194304'],
  ])('%s never reaches the provider', async (_, sent, status, text) => {
    const { socketPath, upstream, session } = await start(answerOk);
    const answer = await post(socketPath, sent);
    expect(answer.statusCode).toBe(status);
    expect(await answer.body.json()).toMatchObject({
      type: 'error',
      error: { message: expect.stringContaining(text) },
    });
    expect(upstream.received).toEqual([]);
    expect(session.use()).toMatchObject({ requests: 0, refusals: 1 });
  });

  it('beyond the concurrency cap gets 429 with Retry-After, and the next one after is served', async () => {
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { socketPath, upstream } = await start(async (_, response) => {
      await held;
      sendJson(response, 200, ANSWER);
    });
    const running = [post(socketPath), post(socketPath)];
    await expect.poll(() => upstream.received.length).toBe(2);
    const third = await post(socketPath);
    expect(third.statusCode).toBe(429);
    expect(third.headers['retry-after']).toBe('1');
    expect(await third.body.json()).toMatchObject({ error: { type: 'rate_limit_error' } });
    release();
    for (const one of running) await (await one).body.dump();
    expect((await post(socketPath)).statusCode).toBe(200);
  });

  it('beyond the requests of a minute gets 429 with Retry-After', async () => {
    const caps = { ...CAPS, requestsPerMinute: 2 };
    const { socketPath } = await start(answerOk, { caps });
    for (const status of [200, 200, 429]) {
      const answer = await post(socketPath);
      await answer.body.dump();
      expect(answer.statusCode).toBe(status);
      if (status === 429) expect(Number(answer.headers['retry-after'])).toBeGreaterThan(50);
    }
  });

  it('that its client gives up is given up at the provider', async () => {
    let ended = false;
    const { socketPath, upstream } = await start((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: {}\n\n');
      response.once('close', () => {
        ended = true;
      });
    });
    const { body } = await post(socketPath);
    expect(upstream.received).toHaveLength(1);
    body.on('error', () => undefined);
    body.destroy();
    await expect.poll(() => ended).toBe(true);
  });

  it('tells when the first one was let through, not when one was refused', async () => {
    const { socketPath, session } = await start(answerOk);
    let first: number | undefined;
    void session.firstModelRequest.then((at) => {
      first = at;
    });
    await (await post(socketPath, { body: { ...ASK, model: 'x' } })).body.dump();
    expect(first).toBeUndefined();
    const before = Date.now();
    await (await post(socketPath)).body.dump();
    expect(first).toBeGreaterThanOrEqual(before);
  });
});
