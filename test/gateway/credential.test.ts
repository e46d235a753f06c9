import { describe, expect, it } from 'vitest';
import {
  ANSWER,
  type Answerer,
  answerOk,
  configFor,
  KEY,
  openSession,
  post,
  sendEvents,
  sendJson,
  start,
  startGateway,
  startTcp,
} from './setup.ts';

describe('the credential', () => {
  const HEADERS = {
    authorization: 'Bearer from-container',
    'x-api-key': 'from-container',
    cookie: 'from=container',
    'proxy-authorization': 'Basic from-container',
    'api-key': 'from-container',
    host: 'from-container.example',
  };

  it('of the home replaces whatever the client sent, in API-key mode', async () => {
    const { upstream, socketPath, log } = await start(answerOk);
    const answer = await post(socketPath, { headers: HEADERS });
    expect([answer.statusCode, await answer.body.json()]).toEqual([200, ANSWER]);
    const [request] = upstream.received;
    expect(request?.headers).toMatchObject({ 'x-api-key': KEY, host: `127.0.0.1:${upstream.port}` });
    expect(request?.headers.authorization).toBeUndefined();
    expect(JSON.stringify(request)).not.toContain('container');
    expect(log.join('')).not.toContain(KEY);
  });

  it('of OAuth mode is a bearer token with its beta', async () => {
    const { upstream, socketPath } = await start(answerOk, { provider: 'oauth' });
    const path = '/model/oauth/v1/messages?beta=true';
    await (
      await post(socketPath, { path, headers: { ...HEADERS, 'anthropic-beta': 'effort-2025-11-24' } })
    ).body.dump();
    const [request] = upstream.received;
    expect(request?.url).toBe('/v1/messages?beta=true');
    expect(request?.headers).toMatchObject({
      authorization: `Bearer ${KEY}`,
      'anthropic-beta': 'effort-2025-11-24,oauth-2025-04-20',
    });
    expect(request?.headers['x-api-key']).toBeUndefined();
  });

  it('is in no answer and no log, even when the provider repeats it in a body, a stream or a header', async () => {
    const leaks: Answerer[] = [
      (_, response) => sendJson(response, 200, { echo: KEY }, { 'request-id': KEY }),
      (_, response) => sendJson(response, 401, { error: { message: `bad key ${KEY}` } }, { 'x-request-id': KEY }),
      (_, response) => sendJson(response, 307, {}, { location: `http://x/${KEY}` }),
      (_, response) => sendEvents(response, [{ echo: KEY }]),
      (_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(`data: ${KEY.slice(0, 9)}`);
        setTimeout(() => response.end(`${KEY.slice(9)}\n\n`), 30);
      },
    ];
    const { socketPath, log, upstream } = await start((request, response) => leaks.shift()?.(request, response));
    for (let turn = 0; turn < 5; turn += 1) {
      const answer = await post(socketPath);
      const seen = `${JSON.stringify(answer.headers)}${await answer.body.text()}`;
      expect(seen).not.toContain(KEY);
      expect(seen).not.toContain(KEY.slice(9));
    }
    expect(upstream.received).toHaveLength(5);
    expect(log.join('')).not.toContain(KEY);
  });

  it('that is missing makes opening fail, naming the secret', async () => {
    const setup = { yaml: configFor('http://127.0.0.1:1'), secrets: {} };
    expect(() => startGateway(setup)).toThrow('there is no secret KEY');
    const { gateway } = startGateway({ ...setup, yaml: setup.yaml.replace('provider: claude', 'provider: rehearsal') });
    await expect(openSession(gateway)).rejects.toMatchObject({ code: 'config' });
    await expect(openSession(gateway, { provider: 'gone' })).rejects.toThrow('there is no provider "gone"');
  });
});

describe('a provider that', () => {
  const TIMEOUTS = { headersMs: 300, idleMs: 300 };
  const against = async (url: string) => {
    const { gateway, log } = startGateway({ yaml: configFor(url), options: { upstreamTimeouts: TIMEOUTS } });
    const { socketPath } = await openSession(gateway);
    const answer = await post(socketPath);
    return { status: answer.statusCode, text: await answer.body.text(), log: log.join('') };
  };

  it.each<[string, () => Promise<string>, number]>([
    ['isn’t there', async () => 'http://127.0.0.1:1', 502],
    ['hangs up', () => startTcp((socket) => socket.destroy()), 502],
    ['talks garbage', () => startTcp((socket) => void socket.end('SSH-2.0-OpenSSH_9\r\n')), 502],
    ['says nothing', () => startTcp((socket) => void socket.resume()), 504],
  ])('%s is told to the client without a word about where it is', async (_, url, status) => {
    const where = await url();
    const got = await against(where);
    expect(got.status).toBe(status);
    expect(JSON.parse(got.text)).toMatchObject({
      type: 'error',
      error: { message: expect.stringContaining('provider') },
    });
    expect(got.text).not.toContain('127.0.0.1');
    expect(got.log).toContain('model request failed');
  });

  it('falls silent in a stream is given up', async () => {
    const { socketPath } = await start(
      (_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write('data: {}\n\n');
      },
      {},
      { upstreamTimeouts: TIMEOUTS },
    );
    expect(await (await post(socketPath)).body.text()).toContain('broke off');
  });
});
