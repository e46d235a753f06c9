import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import {
  type Answerer,
  ASK,
  answerOk,
  CHAT,
  KEY,
  LOCAL,
  post,
  sendEvents,
  sendJson,
  start,
  startUpstream,
} from './setup.ts';

describe('an answer', () => {
  it('that streams arrives piece by piece, and its usage is counted', async () => {
    let sendNext = (): void => undefined;
    const second = new Promise<void>((resolve) => {
      sendNext = resolve;
    });
    const { socketPath, session } = await start(async (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(
        'event: message_start\ndata: {"type":"message_start","message":{"usage":{"input_tokens":11,"output_tokens":1}}}\n\n',
      );
      await second;
      response.end('event: message_delta\ndata: {"type":"message_delta","usage":{"output_tokens":42}}\n\n');
    });
    const { body } = await post(socketPath, { body: { ...ASK, stream: true } });
    const pieces: string[] = [];
    for await (const piece of body) {
      pieces.push(String(piece));
      sendNext();
    }
    expect(pieces[0]).toContain('message_start');
    expect(pieces[0]).not.toContain('message_delta');
    expect(pieces.join('')).toContain('"output_tokens":42');
    expect(session.use()).toEqual({ requests: 1, refusals: 0, inputTokens: 11, outputTokens: 42, refused: null });
  });

  it('that is one document has its usage counted, with what came from the cache', async () => {
    const { socketPath, session } = await start(answerOk);
    await (await post(socketPath)).body.dump();
    expect(session.use()).toMatchObject({ inputTokens: 10, outputTokens: 5 });
  });

  it.each([
    ['a document', (response) => sendJson(response, 200, { usage: { prompt_tokens: 3, completion_tokens: 4 } })],
    [
      'a stream',
      (response) => sendEvents(response, [{ usage: null }, { usage: { prompt_tokens: 3, completion_tokens: 4 } }]),
    ],
  ] satisfies [string, (response: Parameters<Answerer>[1]) => void][])(
    'of a chat completion as %s is counted',
    async (_, answer) => {
      const { socketPath, session, upstream } = await start((_request, response) => answer(response), LOCAL);
      await (await post(socketPath, CHAT)).body.dump();
      expect(session.use()).toMatchObject({ inputTokens: 3, outputTokens: 4 });
      expect(upstream.received[0]).toMatchObject({
        url: '/v1/chat/completions',
        headers: { authorization: `Bearer ${KEY}` },
      });
      expect(JSON.parse(upstream.received[0]?.body ?? '')).toEqual({ model: 'llama', messages: [], max_tokens: 8000 });
    },
  );

  it.each([401, 429, 500, 529])('with status %i passes on status, body and retry-after', async (status) => {
    const error = { type: 'error', error: { type: 'some_error', message: 'no' } };
    const { socketPath } = await start((_, response) =>
      sendJson(response, status, error, { 'retry-after': '7', 'x-internal': 'i' }),
    );
    const answer = await post(socketPath);
    expect([answer.statusCode, await answer.body.json()]).toEqual([status, error]);
    expect(answer.headers['retry-after']).toBe('7');
    expect(answer.headers['x-internal']).toBeUndefined();
  });

  it.each([301, 302, 303, 307, 308, 304])('with the redirect %i is not followed', async (status) => {
    const other = await startUpstream(answerOk);
    const { socketPath, upstream } = await start((_, response) => {
      response.writeHead(status, { location: `${other.url}/v1/messages`, 'content-type': 'application/json' });
      response.end(status === 304 ? undefined : 'x'.repeat(500_000));
    });
    const answer = await post(socketPath);
    expect(answer.statusCode).toBe(502);
    expect(answer.headers.location).toBeUndefined();
    expect(await answer.body.text()).toContain('redirect');
    expect([upstream.received.length, other.received.length]).toEqual([1, 0]);
  });

  it.each<[string, Answerer, number, string]>([
    [
      'an error page',
      (_, r) => void r.writeHead(503, { 'content-type': 'text/html' }).end('<b>proxy-7.internal</b>'),
      503,
      'status 503',
    ],
    [
      'an endless error',
      (_, r) => {
        r.writeHead(500, { 'content-type': 'application/json' });
        const timer = setInterval(() => r.write('x'.repeat(60_000)), 1);
        r.once('close', () => clearInterval(timer));
      },
      500,
      'status 500',
    ],
    [
      'a page',
      (_, r) => void r.writeHead(200, { 'content-type': 'text/html' }).end('<b>login</b>'),
      502,
      'neither JSON',
    ],
    ['nothing at all', (_, r) => void r.writeHead(204).end(), 502, 'neither JSON'],
    [
      'compression',
      (_, r) => void r.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' }).end('x'),
      502,
      'compressed',
    ],
  ])('that is %s becomes an error of the API’s shape', async (_, answer, status, text) => {
    const { socketPath } = await start(answer);
    const got = await post(socketPath);
    const body = await got.body.json();
    expect(got.statusCode).toBe(status);
    expect(body).toMatchObject({ type: 'error', error: { message: expect.stringContaining(text) } });
    expect(JSON.stringify(body)).not.toMatch(/proxy-7|login/);
  });

  it('that breaks off in a stream ends in an error event', async () => {
    const { socketPath, session } = await start((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: {"type":"message_start","message":{"usage":{"input_tokens":9}}}\n\n');
      setTimeout(() => response.destroy(), 30);
    });
    const text = await (await post(socketPath)).body.text();
    expect(text).toMatch(/\n\nevent: error\ndata: \{"type":"error".*broke off/);
    expect(session.use().inputTokens).toBe(9);
  });

  it.each([
    ['before anything was passed on is an error', ['{"half":'], 502],
    ['later breaks off for the client', ['{"half":', `"${'x'.repeat(100_000)}`, 'y'], 'broken'],
  ])('that breaks off in a document %s', async (_, pieces, expected) => {
    const { socketPath } = await start(async (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      for (const piece of pieces) {
        response.write(piece);
        await delay(30);
      }
      response.destroy();
    });
    const got = await post(socketPath);
    const read = got.body.text().then(
      () => got.statusCode,
      () => 'broken',
    );
    expect(await read).toBe(expected);
  });
});
