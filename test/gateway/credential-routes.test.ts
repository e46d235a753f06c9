import { createServer, request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { AuditEvent } from '../../src/audit.ts';
import { parseConfig } from '../../src/config.ts';
import { planCredentials } from '../../src/domain/credential-plan.ts';
import { AgentAlias, GroupFolder } from '../../src/domain/ids.ts';
import { SOLE_TIER, tierRow } from '../../src/domain/tiers.ts';
import { createCredentialGateway } from '../../src/gateway/credentials.ts';
import { createSecrets } from '../../src/secrets.ts';
import {
  type Answerer,
  GROUP,
  openSession,
  sendJson,
  sendRaw,
  startGateway,
  startTcp,
  startUpstream,
} from './setup.ts';

const TOKEN = 'ghp_0123456789abcdefghij';

interface Extra {
  /** Further keys of the credential. */
  readonly route?: string;
  readonly secrets?: Readonly<Record<string, string>>;
  readonly record?: (event: AuditEvent) => void;
  readonly base?: string;
}

/** A gateway whose one route leads to that address. */
const openRoute = async (url: string, { route = '', secrets: values = { TOKEN }, record, base = '' }: Extra = {}) => {
  const yaml = `credentials: { api: { kind: route, baseUrl: "${url}${base}", secret: TOKEN, ${route || 'pathPrefixes: [/]'} } }`;
  const { credentials } = parseConfig(yaml, 'tierclaw.yaml');
  const holder = {
    row: tierRow(SOLE_TIER),
    agent: AgentAlias.parse('default'),
    folder: GroupFolder.parse('lobby'),
  };
  const events: AuditEvent[] = [];
  const lines: string[] = [];
  const routes = createCredentialGateway({
    secrets: createSecrets(new Map(Object.entries(values)), '.env'),
    audit: { record: record ?? ((event) => void events.push(event)) },
    logger: pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) }),
  });
  onTestFinished(() => routes.close());
  const { gateway } = startGateway({ options: { credentials: routes.open } });
  const planned = planCredentials(credentials, holder).routes;
  const opened = await openSession(gateway, { provider: 'rehearsal', models: ['rehearsal-1'], credentials: planned });
  return { ...opened, events, lines, gateway, planned };
};

const start = async (answer: Answerer, extra: Extra = {}) => {
  const upstream = await startUpstream(answer);
  return { upstream, ...(await openRoute(upstream.url, extra)) };
};

interface Ask {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string | Buffer;
}

/** The path as it is written, headers as they are. */
const ask = (socketPath: string, { method = 'GET', path = '/cred/api/user', headers = {}, body }: Ask = {}) =>
  new Promise<{ status: number; headers: NodeJS.Dict<string | string[]>; body: Buffer }>((resolve, reject) => {
    const request = httpRequest({ socketPath, method, path, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) }),
      );
    });
    request.on('error', reject);
    request.end(body);
  });

const ok: Answerer = (_, response) => sendJson(response, 200, { ok: true });

describe('a credential route', () => {
  it('gives the header on the host, in the place of whatever the client says for itself', async () => {
    const { upstream, socketPath, events, lines } = await start(ok);
    const headers = {
      authorization: 'Bearer from-container',
      cookie: 'from=container',
      'proxy-authorization': 'Basic from-container',
      'x-api-key': 'from-container',
      'x-forwarded-for': 'from-container',
      'x-http-method-override': 'DELETE',
      host: 'from-container.example',
      accept: 'application/vnd.github+json',
    };
    const answer = await ask(socketPath, { headers, path: '/cred/api/repos/a?per_page=2' });
    expect(JSON.parse(String(answer.body))).toEqual({ ok: true });
    const [request] = upstream.received;
    expect(request).toMatchObject({ method: 'GET', url: '/repos/a?per_page=2' });
    expect(request?.headers).toMatchObject({
      authorization: `Bearer ${TOKEN}`,
      host: `127.0.0.1:${upstream.port}`,
      accept: 'application/vnd.github+json',
    });
    expect(JSON.stringify(request)).not.toContain('container');
    expect(request?.headers['x-http-method-override']).toBeUndefined();
    expect(JSON.stringify(events) + lines.join('')).not.toContain(TOKEN);
    expect(events).toMatchObject([
      { kind: 'credential-open', credential: 'api', method: 'GET', prefix: '/', path: '/repos/a', group: GROUP },
      { kind: 'credential-used', credential: 'api', status: 200, up: 0, down: 11, broken: null },
    ]);
  });

  it.each([
    ['header: "x-key: token {secret}"', { 'x-key': `token ${TOKEN}` }],
    ['basic: x-access-token', { authorization: `Basic ${Buffer.from(`x-access-token:${TOKEN}`).toString('base64')}` }],
  ])('sends it as the operator says: %s', async (how, headers) => {
    const { upstream, socketPath } = await start(ok, { route: `pathPrefixes: [/], ${how}` });
    await ask(socketPath, { headers: { 'x-key': 'mine', authorization: 'mine' } });
    expect(upstream.received[0]?.headers).toMatchObject(headers);
    expect(JSON.stringify(upstream.received)).not.toContain('mine');
  });

  it('keeps the base URL’s own path before everything', async () => {
    const { upstream, socketPath } = await start(ok, { base: '/api/v3/' });
    await ask(socketPath, { path: '/cred/api/user' });
    expect(upstream.received[0]?.url).toBe('/api/v3/user');
  });

  const SCOPED = { route: 'pathPrefixes: [/repos/x, /gists/], methods: [GET, POST]' };

  it.each([
    '/repos/x',
    '/repos/x/',
    '/repos/x/y/z?q=..%2f',
    '/repos/x?methods=a&my_method=b&q=_method',
    '/gists/1',
    '/repos/x/%20a%C3%A9',
  ])('lets %s through: it is beneath a prefix', async (path) => {
    const { upstream, socketPath } = await start(ok, SCOPED);
    expect((await ask(socketPath, { path: `/cred/api${path}` })).status).toBe(200);
    expect(upstream.received[0]?.url).toBe(path);
  });

  it.each([
    ['/cred/api/repos/xy', 403],
    ['/cred/api/repos', 403],
    ['/cred/api/REPOS/x', 403],
    ['/cred/api/', 403],
    ['/cred/api', 403],
    ['/cred/api/user', 403],
    ['/cred/api/repos/x/../../user', 400],
    ['/cred/api/repos/x/..', 400],
    ['/cred/api/repos/x/.', 400],
    ['/cred/api/repos/x/%2e%2e/user', 400],
    ['/cred/api/repos/x/%2E./user', 400],
    ['/cred/api/repos/x%2f..%2fuser', 400],
    ['/cred/api/repos/x%5c..%5cuser', 400],
    ['/cred/api/repos/x/%252e%252e/user', 400],
    ['/cred/api/repos/x/..;/user', 400],
    ['/cred/api/repos/x/..%3b/user', 400],
    ['/cred/api/repos/x/%c0%ae%c0%ae/user', 400],
    ['/cred/api/repos/x/%EF%BC%8E%EF%BC%8E/user', 400],
    ['/cred/api/repos/x/%EF%BC%8Fuser', 400],
    ['/cred/api/repos/x/a%00b', 400],
    ['/cred/api/repos/x/a%0d%0aHost:%20evil', 400],
    ['/cred/api//repos/x', 400],
    ['/cred/api/repos//x', 400],
    ['/cred/api/repos/x\\..\\user', 400],
    ['/cred/api/%72epos/x', 400],
    ['/cred/api/repos/x?_method=DELETE', 403],
    ['/cred/api/repos/x?%5fmethod=DELETE', 403],
    ['/cred/api/repos/x?a=b;_method=DELETE', 403],
    ['/cred/api/repos/x?a=b&+_method=DELETE', 403],
    ['/cred/api/repos/x?[_method]=DELETE', 403],
    ['/cred/api/repos/x?.method=DELETE', 403],
    ['/cred/api/repos/x?_method%00x=DELETE', 403],
    ['/cred/api/repos/x?X_HTTP_Method_Override=DELETE', 403],
    ['/cred/api/repos/x?a=%zz', 400],
    ['/cred/API/repos/x', 403],
    ['/cred/api2/repos/x', 403],
    ['/cred/ap%69/repos/x', 403],
    ['/cred//api/repos/x', 403],
    ['/cred/../cred/api/repos/x', 403],
    ['/cred', 403],
    ['/CRED/api/repos/x', 404],
    ['//cred/api/repos/x', 400],
    ['/x/../cred/api/repos/x', 400],
  ])('refuses %s', async (path, status) => {
    const { upstream, socketPath } = await start(ok, SCOPED);
    const answer = await sendRaw(socketPath, `GET ${path} HTTP/1.1\r\nhost: gateway\r\nconnection: close\r\n\r\n`);
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(upstream.received).toEqual([]);
  });

  it.each(['PUT', 'DELETE', 'OPTIONS', 'TRACE', 'get', 'PROPFIND'])('refuses the method %s', async (method) => {
    const { upstream, socketPath } = await start(ok, SCOPED);
    const answer = await sendRaw(socketPath, `${method} /cred/api/repos/x HTTP/1.1\r\nhost: g\r\n\r\n`);
    expect(answer).toMatch(/^HTTP\/1\.1 (405|400) /);
    expect(upstream.received).toEqual([]);
  });

  it('puts refusals on record, a bounded number of them, and counts the rest', async () => {
    const { session, socketPath, events } = await start(ok, SCOPED);
    for (let at = 0; at < 60; at += 1) await ask(socketPath, { path: `/cred/api/user/${at}?secret=x` });
    await session.close();
    const refused = events.filter(({ kind }) => kind === 'credential-refused');
    expect(refused).toHaveLength(51);
    expect(refused[0]).toMatchObject({ target: '/cred/api/user/0', status: 403 });
    expect(refused.at(-1)).toMatchObject({ more: 10 });
  });

  it('sends nothing that can’t be put on record', async () => {
    const { upstream, socketPath } = await start(ok, {
      record: () => {
        throw new Error('no space left on device');
      },
    });
    const { status, body } = await ask(socketPath);
    expect([status, String(body)]).toEqual([503, expect.stringContaining('can’t be put on record')]);
    expect(upstream.received).toEqual([]);
  });

  it.each([
    ['is missing', {}],
    ['is too short to be found in texts again', { TOKEN: '12345' }],
    ['has a line break', { TOKEN: 'abcdef\r\nx-evil: 1' }],
    ['has a space', { TOKEN: 'abcdef ghi' }],
  ])('says no more than that the operator has something to do, where the secret %s', async (_, secrets) => {
    const { upstream, socketPath, lines } = await start(ok, { secrets: secrets as Record<string, string> });
    const { status, body } = await ask(socketPath);
    expect([status, String(body)]).toEqual([503, expect.stringContaining('has not set up the secret of /cred/api')]);
    expect(lines.join('')).toContain('secret TOKEN');
    expect(lines.join('')).not.toContain('abcdef');
    expect(upstream.received).toEqual([]);
  });
});

describe('an answer through a credential route', () => {
  it('has listed headers alone, and no form of the secret', async () => {
    const basic = Buffer.from(`me:${TOKEN}`).toString('base64');
    const { socketPath } = await start((_, response) => {
      response.writeHead(200, {
        'content-type': `text/plain; v=${TOKEN}`,
        etag: '"1"',
        'set-cookie': 'session=1',
        'www-authenticate': 'Basic realm="x"',
        'x-echo': TOKEN,
        'x-ratelimit-remaining': '7',
      });
      response.write(`a ${TOKEN.slice(0, 7)}`);
      setTimeout(() => response.end(`${TOKEN.slice(7)} b ${basic} c`), 30);
    });
    const { headers, body } = await ask(socketPath);
    expect(String(body)).toMatch(/^a \[redacted\] b [A-Za-z0-9]{0,4}\[redacted\][A-Za-z0-9=]{0,4} c$/);
    expect(headers).toMatchObject({
      etag: '"1"',
      'x-ratelimit-remaining': '7',
      'content-type': 'text/plain; v=[redacted]',
    });
    for (const name of ['set-cookie', 'www-authenticate', 'x-echo']) expect(headers[name]).toBeUndefined();
  });

  it.each([
    ['/api/next?page=2', '/cred/api/next?page=2'],
    ['next', '/cred/api/next'],
    ['/elsewhere', undefined],
    ['https://files.example/x?sig=1', 'https://files.example/x?sig=1'],
    [`https://evil.example/?t=${TOKEN}`, 'https://evil.example/?t=[redacted]'],
    [`https://u:${TOKEN}@evil.example/`, undefined],
    ['//evil.example/x', 'http://evil.example/x'],
  ])('that redirects to %s isn’t followed', async (location, expected) => {
    const { upstream, socketPath } = await start((_, response) => void response.writeHead(302, { location }).end(), {
      base: '/api',
    });
    const { status, headers } = await ask(socketPath);
    expect([status, headers.location]).toEqual([302, expected]);
    expect(upstream.received).toHaveLength(1);
  });

  it('never leads the key to another host, whatever the client’s Host says', async () => {
    const other = await startUpstream(ok);
    const { socketPath } = await start(
      (_, response) => void response.writeHead(307, { location: `${other.url}/x` }).end(),
    );
    await ask(socketPath, { headers: { host: `127.0.0.1:${other.port}` } });
    expect(other.received).toEqual([]);
  });

  it('that is compressed as it is transferred is refused, too', async () => {
    const packed = gzipSync(TOKEN);
    const url = await startTcp((socket) => {
      socket.once('data', () => {
        const head = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n';
        socket.write(`${head}${packed.length.toString(16)}\r\n`);
        socket.write(packed);
        socket.end('\r\n0\r\n\r\n');
      });
    });
    const { socketPath } = await openRoute(url);
    expect((await ask(socketPath)).status).toBe(502);
  });

  it('that is compressed unasked is refused', async () => {
    const { upstream, socketPath } = await start((_, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(TOKEN));
    });
    const { status, body } = await ask(socketPath, { headers: { 'accept-encoding': 'gzip' } });
    expect([status, body.includes(TOKEN)]).toEqual([502, false]);
    expect(upstream.received[0]?.headers['accept-encoding']).toBe('identity');
  });

  it.each([
    ['too much', 'answerBytes: 1024', (write: (text: string) => void) => write('x'.repeat(5000))],
    ['nothing more', 'idleSeconds: 0.2', (write: (text: string) => void) => write('x')],
  ])('that sends %s is cut off, and on record as broken', async (_, cap, send) => {
    const { socketPath, events } = await start(
      (_request, response) => {
        response.writeHead(200);
        send((text) => void response.write(text));
      },
      { route: `pathPrefixes: [/], ${cap}` },
    );
    await expect(ask(socketPath)).rejects.toThrow();
    await expect
      .poll(() => events.at(-1))
      .toMatchObject({ kind: 'credential-used', status: 200, broken: expect.any(String) });
  });

  it.each([
    ['never answers', '', 504],
    ['answers with garbage', 'not http at all\r\n\r\n', 502],
    ['hangs up', null, 502],
  ])('of a host that %s is an error without a word about it', async (_, bytes, status) => {
    const url = await startTcp((socket) => {
      if (bytes === null) socket.destroy();
      else if (bytes !== '') socket.end(bytes);
    });
    const { socketPath } = await openRoute(url, { route: 'pathPrefixes: [/], idleSeconds: 0.3' });
    const answer = await ask(socketPath);
    expect([answer.status, String(answer.body)]).toEqual([status, expect.stringContaining('/cred/api')]);
    expect(String(answer.body)).not.toMatch(/127\.0\.0\.1|UND_ERR|parse/i);
  });
});

describe('a body through a credential route', () => {
  const POST = { route: 'pathPrefixes: [/], methods: [GET, POST], bodyBytes: 1000' };

  it('goes out as it comes, compressed or not', async () => {
    const bodies: Buffer[] = [];
    const server = createServer(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      bodies.push(Buffer.concat(chunks));
      response.end(String(request.headers['content-encoding']));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const { socketPath } = await openRoute(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, POST);
    const zipped = gzipSync('packed');
    const answer = await ask(socketPath, { method: 'POST', body: zipped, headers: { 'content-encoding': 'gzip' } });
    expect(String(answer.body)).toBe('gzip');
    await ask(socketPath, { method: 'POST', body: 'plain', headers: { 'transfer-encoding': 'chunked' } });
    expect(bodies).toEqual([zipped, Buffer.from('plain')]);
  });

  it.each([
    ['announced', {}],
    ['unannounced', { 'transfer-encoding': 'chunked' }],
  ])('over the cap is refused, %s', async (_, headers) => {
    const { socketPath } = await start(ok, POST);
    const { status } = await ask(socketPath, {
      method: 'POST',
      body: 'x'.repeat(2000),
      headers: headers as Record<string, string>,
    });
    expect(status).toBe(413);
  });

  it('has no place in a GET', async () => {
    const { upstream, socketPath } = await start(ok, POST);
    expect((await ask(socketPath, { body: 'x', headers: { 'content-length': '1' } })).status).toBe(400);
    expect(upstream.received).toEqual([]);
  });
});

describe('a group’s use of a credential', () => {
  it('is bounded per minute', async () => {
    const { socketPath } = await start(ok, { route: 'pathPrefixes: [/], requestsPerMinute: 2' });
    const statuses = [];
    for (let at = 0; at < 3; at += 1) statuses.push(await ask(socketPath));
    expect(statuses.map(({ status }) => status)).toEqual([200, 200, 429]);
    expect(Number(statuses[2]?.headers['retry-after'])).toBeGreaterThan(0);
  });

  it('is bounded at once, over all of its turns', async () => {
    const held: (() => void)[] = [];
    const { socketPath, gateway, planned, upstream } = await start(
      (_, response) => new Promise<void>((resolve) => held.push(() => resolve(void response.end()))),
      { route: 'pathPrefixes: [/], concurrent: 1' },
    );
    const second = await openSession(gateway, { provider: 'rehearsal', models: ['rehearsal-1'], credentials: planned });
    const first = ask(socketPath);
    await expect.poll(() => upstream.received.length).toBe(1);
    expect((await ask(second.socketPath)).status).toBe(429);
    held[0]?.();
    expect((await first).status).toBe(200);
  });

  it('ends with its turn', async () => {
    const { session, socketPath, upstream, events } = await start(() => new Promise(() => undefined));
    const asked = ask(socketPath);
    await expect.poll(() => upstream.received.length).toBe(1);
    await Promise.all([session.close(), expect(asked).rejects.toThrow()]);
    expect(events.at(-1)).toMatchObject({ kind: 'credential-used', status: 0, broken: 'the client is gone' });
  });
});
