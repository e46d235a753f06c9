import { existsSync } from 'node:fs';
import { chmod, mkdir, stat } from 'node:fs/promises';
import { createConnection } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  ANSWER,
  type Answerer,
  ASK,
  configFor,
  KEY,
  openSession,
  post,
  type Sent,
  type Setup,
  sendEvents,
  sendJson,
  sendRaw,
  startGateway,
  startTcp,
  startUpstream,
  temporaryDirectory,
} from './setup.ts';

type Grant = Parameters<typeof openSession>[1];

const start = async (answer: Answerer, grant: Grant = {}, options: Setup['options'] = {}) => {
  const upstream = await startUpstream(answer);
  const { gateway, log } = startGateway({ yaml: configFor(upstream.url), options });
  return { upstream, gateway, log, ...(await openSession(gateway, grant)) };
};

const ok: Answerer = (_, response) => sendJson(response, 200, ANSWER);

const LOCAL = { provider: 'local', models: ['llama'] };
const CHAT = { path: '/model/local/chat/completions', body: { model: 'llama', messages: [] } };

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
    const { upstream, socketPath, log } = await start(ok);
    const answer = await post(socketPath, { headers: HEADERS });
    expect([answer.statusCode, await answer.body.json()]).toEqual([200, ANSWER]);
    const [request] = upstream.received;
    expect(request?.headers).toMatchObject({ 'x-api-key': KEY, host: `127.0.0.1:${upstream.port}` });
    expect(request?.headers.authorization).toBeUndefined();
    expect(JSON.stringify(request)).not.toContain('container');
    expect(log.join('')).not.toContain(KEY);
  });

  it('of OAuth mode is a bearer token with its beta', async () => {
    const { upstream, socketPath } = await start(ok, { provider: 'oauth' });
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
    expect(session.use()).toEqual({ requests: 1, refusals: 0, inputTokens: 11, outputTokens: 42 });
  });

  it('that is one document has its usage counted, with what came from the cache', async () => {
    const { socketPath, session } = await start(ok);
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
    const other = await startUpstream(ok);
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

  it('that breaks off in a document breaks off for the client', async () => {
    const { socketPath } = await start((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.write('{"half":');
      setTimeout(() => response.destroy(), 30);
    });
    await expect(post(socketPath).then(({ body }) => body.text())).rejects.toThrow();
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
    const { socketPath, upstream, session } = await start(ok);
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
    const caps = {
      requestsPerMinute: 2,
      concurrent: 2,
      maxTokens: 1000,
      bodyBytes: 1000,
      tokensPerDay: 1,
      usdPerDay: 1,
    };
    const { socketPath } = await start(ok, { caps });
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
    const { socketPath, session } = await start(ok);
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

describe('a session', () => {
  it('listens in a directory 214 bytes deep, and nothing is made elsewhere', async () => {
    const base = await temporaryDirectory();
    const directory = join(base, 'd'.repeat(100), 'e'.repeat(213 - base.length - 101));
    expect(directory).toHaveLength(214);
    const { gateway } = startGateway({});
    const { session } = await openSession(gateway, { provider: 'rehearsal', socketDirectory: directory });
    expect((await stat(join(directory, 'gateway.sock'))).mode & 0o777).toBe(0o666);
    await session.close();
    expect(existsSync(join(directory, 'gateway.sock'))).toBe(false);
  });

  it('refuses a directory of another mode', async () => {
    const directory = join(await temporaryDirectory(), 'run');
    await mkdir(directory);
    await chmod(directory, 0o777);
    await expect(
      openSession(startGateway({}).gateway, { provider: 'rehearsal', socketDirectory: directory }),
    ).rejects.toThrow('has mode 0777; it must be 0755');
  });

  it('that closes ends what is under way, at both sides, and late requests get nothing', async () => {
    let ended = false;
    const { socketPath, session } = await start((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: {}\n\n');
      response.once('close', () => {
        ended = true;
      });
    });
    const { body } = await post(socketPath);
    const read = body.text();
    const early = createConnection(socketPath);
    const earlyGone = new Promise((resolve) => early.once('close', resolve));
    early.on('error', () => undefined);
    await Promise.all([session.close(), session.close(), expect(read).rejects.toThrow(), earlyGone]);
    await expect.poll(() => ended).toBe(true);
    await expect(post(socketPath)).rejects.toThrow('ENOENT');
    await session.close();
  });

  it('shares nothing with another one: provider, models, caps, counts', async () => {
    const upstream = await startUpstream(ok);
    const { gateway } = startGateway({ yaml: configFor(upstream.url) });
    const one = await openSession(gateway);
    const two = await openSession(gateway, { provider: 'local', models: ['llama'] });
    expect((await post(one.socketPath, CHAT)).statusCode).toBe(403);
    expect((await post(two.socketPath)).statusCode).toBe(403);
    expect((await post(two.socketPath, CHAT)).statusCode).toBe(200);
    await one.session.close();
    await (await post(two.socketPath, CHAT)).body.dump();
    expect(one.session.use()).toMatchObject({ requests: 0, refusals: 1 });
    expect(two.session.use()).toMatchObject({ requests: 2, refusals: 1 });
    await gateway.close();
    await expect(post(two.socketPath, CHAT)).rejects.toThrow('ENOENT');
  });
});

describe('hostile bytes', () => {
  const LIMITS = { connections: 8, headerBytes: 8192, headersMs: 300, requestMs: 600, keepAliveMs: 300 };

  it.each<[string, string | Buffer, string]>([
    ['CONNECT', 'CONNECT api.anthropic.com:443 HTTP/1.1\r\nhost: x\r\n\r\n', 'HTTP/1.1 403'],
    ['an upgrade', 'GET / HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n', 'HTTP/1.1 403'],
    [
      'absolute form',
      'POST http://api.anthropic.com/v1/messages HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n',
      'HTTP/1.1 403',
    ],
    ['//host', 'POST //api.anthropic.com/v1/messages HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n', 'HTTP/1.1 400'],
    ['a backslash', 'POST /model\\claude HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n', 'HTTP/1.1 400'],
    ['no host', 'POST / HTTP/1.1\r\nconnection: close\r\n\r\n', 'HTTP/1.1 400'],
    ['two lengths', 'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n', 'HTTP/1.1 400'],
    [
      'length and chunks',
      'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n',
      'HTTP/1.1 400',
    ],
    ['huge headers', `POST / HTTP/1.1\r\nhost: x\r\nx: ${'a'.repeat(100_000)}\r\n\r\n`, 'HTTP/1.1 431'],
    ['many headers', `POST / HTTP/1.1\r\nhost: x\r\n${'a: b\r\n'.repeat(5000)}\r\n`, 'HTTP/1.1 431'],
    ['TLS', Buffer.from('16030100a5010000a10303', 'hex'), 'HTTP/1.1 400'],
    ['zeros', Buffer.alloc(100_000), 'HTTP/1.1 400'],
    ['a head that never ends', 'POST / HTTP/1.1\r\nhost: x\r\n', 'HTTP/1.1 408'],
    ['silence', '', 'HTTP/1.1 408'],
    [
      'a body that never ends',
      'POST /model/claude/v1/messages HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 50\r\n\r\n{',
      'HTTP/1.1 408',
    ],
  ])('such as %s get a refusal and an end, and the next client is served', async (_, bytes, answer) => {
    const { socketPath, upstream, session } = await start(ok, {}, { clientLimits: LIMITS });
    expect((await sendRaw(socketPath, bytes)).slice(0, answer.length)).toBe(answer);
    expect(upstream.received).toEqual([]);
    expect(session.use().requests).toBe(0);
    // Node itself answers a request without a Host.
    expect(session.use().refusals).toBe(bytes.includes('host: x') || !bytes.includes('HTTP') ? 1 : 0);
    expect((await post(socketPath)).statusCode).toBe(200);
  });

  it('a Host that differs changes nothing about where a request goes', async () => {
    const { socketPath, upstream } = await start(ok);
    const body = JSON.stringify(ASK);
    const head = ['POST /model/claude/v1/messages HTTP/1.1', 'host: evil.example', 'connection: close'];
    const rest = ['content-type: application/json', `content-length: ${body.length}`, '', body];
    expect(await sendRaw(socketPath, [...head, ...rest].join('\r\n'))).toMatch(/^HTTP\/1.1 200/);
    expect(upstream.received[0]?.headers.host).toBe(`127.0.0.1:${upstream.port}`);
  });

  it('and resets in every phase leave the gateway standing', async () => {
    const { socketPath } = await start(ok, {}, { clientLimits: { ...LIMITS, connections: 64 } });
    const parts = [
      '',
      'CONNECT a:1 HTTP/1.1\r\nhost: x\r\n\r\n',
      'POST /model/claude/v1/messages HTTP/1.1\r\nhost: x\r\n',
    ];
    for (const part of [...parts, ...parts]) {
      for (let count = 0; count < 5; count += 1) {
        const socket = createConnection(socketPath, () => socket.write(part, () => socket.destroy()));
        socket.on('error', () => undefined);
      }
    }
    await expect.poll(async () => (await post(socketPath)).statusCode).toBe(200);
  });

  it('over more connections than allowed are dropped without hurting those that are in', async () => {
    const { socketPath } = await start(ok, {}, { clientLimits: { ...LIMITS, headersMs: 2000, requestMs: 2000 } });
    const sockets = Array.from({ length: 30 }, () => createConnection(socketPath).resume());
    const gone = sockets.map((socket) => new Promise((resolve) => socket.on('error', resolve).once('close', resolve)));
    await Promise.all(gone);
    expect((await post(socketPath)).statusCode).toBe(200);
  });

  it('that nobody reads do not make the gateway hold an endless answer', async () => {
    let written = 0;
    const { socketPath, session } = await start((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const more = (): void => {
        while (!response.destroyed && response.write(`data: ${'x'.repeat(60_000)}\n\n`)) written += 60_000;
      };
      response.on('drain', more);
      more();
    });
    const { body } = await post(socketPath);
    body.on('error', () => undefined);
    let last = -1;
    await expect
      .poll(
        () => {
          const still = written === last;
          last = written;
          return still;
        },
        { interval: 300 },
      )
      .toBe(true);
    expect(written).toBeLessThan(32 << 20);
    await session.close();
  });
});
