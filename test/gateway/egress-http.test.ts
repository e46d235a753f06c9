import { request as httpRequest, type IncomingMessage, type RequestListener } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { ask, PUBLIC, readAll, type Setting, startEgress, startHost, startWeb, statusOf } from './egress-setup.ts';
import { sendRaw } from './setup.ts';

const NAMES = { 'example.org': [PUBLIC] };

const web = async (serve: RequestListener, setting: Setting = {}) => {
  const port = await startWeb(serve);
  return startEgress({ names: NAMES, hosts: { [`${PUBLIC}:80`]: port, [`${PUBLIC}:8080`]: port }, ...setting });
};

/** A host that is no HTTP server: it answers the first bytes with these. */
const raw = async (answer: string | Buffer, setting: Setting = {}) => {
  const port = await startHost((socket) => void socket.once('data', () => socket.end(answer)));
  return startEgress({ names: NAMES, hosts: { [`${PUBLIC}:80`]: port }, ...setting });
};

interface Sent {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string | Buffer;
}

const send = (socketPath: string, url: string, { method = 'GET', headers = {}, body }: Sent = {}) =>
  new Promise<{ answer: IncomingMessage; text: () => Promise<string> }>((resolve, reject) => {
    const host = /^http:\/\/([^/?]*)/.exec(url)?.[1] ?? 'x';
    const outgoing = httpRequest({ socketPath, method, path: url, headers: { host, ...headers } }, (answer) => {
      const text = async (): Promise<string> => {
        const chunks: Buffer[] = [];
        for await (const chunk of answer) chunks.push(chunk as Buffer);
        return Buffer.concat(chunks).toString();
      };
      resolve({ answer, text });
    });
    outgoing.on('error', reject);
    outgoing.end(body);
  });

const echoBack: RequestListener = (request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    const { method, url, rawHeaders } = request;
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ method, url, rawHeaders, body: Buffer.concat(chunks).toString() }));
  });
};

describe('a request in absolute form', () => {
  it('goes to the host in origin form, and its answer comes back', async () => {
    const { socketPath, doors, lines } = await web(echoBack);
    const { answer, text } = await send(socketPath, 'http://example.org/a?b=c', {
      method: 'POST',
      body: 'hello',
      headers: { 'content-type': 'text/plain' },
    });
    expect(answer.statusCode).toBe(200);
    expect(JSON.parse(await text())).toMatchObject({ method: 'POST', url: '/a?b=c', body: 'hello' });
    expect(doors.dialled).toEqual([`${PUBLIC}:80`]);
    await expect
      .poll(lines)
      .toMatchObject([
        { how: 'http', host: 'example.org', port: 80, verdict: 'allowed', address: PUBLIC, reason: null },
      ]);
  });

  it('carries no header that is about the connection or the proxy, and no other host', async () => {
    const { socketPath } = await web(echoBack);
    const headers = {
      'Proxy-Authorization': 'Basic secret',
      'Proxy-Connection': 'keep-alive',
      'Keep-Alive': 'timeout=5',
      TE: 'trailers',
      Connection: 'X-Private, close',
      'X-Private': 'private',
      'X-Kept': 'kept',
      Authorization: 'Bearer of-the-client',
    };
    const { text } = await send(socketPath, 'http://example.org/', { headers });
    const { rawHeaders } = JSON.parse(await text());
    expect(rawHeaders).toEqual([
      ...['Host', 'example.org'],
      ...['X-Kept', 'kept'],
      ...['Authorization', 'Bearer of-the-client'],
      ...['Connection', 'close'],
    ]);
  });

  it('keeps headers that stand twice, both ways, and the answer’s status', async () => {
    const { socketPath } = await web((_, response) => {
      response.writeHead(418, [
        ...['Set-Cookie', 'a=1'],
        ...['Set-Cookie', 'b=2'],
        ...['Keep-Alive', 'timeout=5'],
        ...['Content-Length', '3'],
      ]);
      response.end('tea');
    });
    const { answer, text } = await send(socketPath, 'http://example.org/');
    expect(answer.statusCode).toBe(418);
    expect(answer.headers['set-cookie']).toEqual(['a=1', 'b=2']);
    expect(await text()).toBe('tea');
  });

  it.each(['GET', 'DELETE', 'POST', 'PUT', 'PATCH', 'OPTIONS'])(
    'of %s with a body in chunks arrives as one request with that body',
    async (method) => {
      let requests = 0;
      const { socketPath } = await web((request, response) => {
        requests += 1;
        echoBack(request, response);
      });
      const smuggled = 'GET /smuggled HTTP/1.1\r\nHost: example.org\r\n\r\n';
      const head = `${method} http://example.org/ HTTP/1.1\r\nHost: example.org\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n`;
      const chunk = `${smuggled.length.toString(16)}\r\n${smuggled}\r\n0\r\n\r\n`;
      const got = await sendRaw(socketPath, head + chunk);
      expect(got).toContain(JSON.stringify(smuggled).slice(1, -1));
      expect(requests).toBe(1);
    },
  );

  it('has all of its headers, so that a body is never taken for another request', async () => {
    const got: string[] = [];
    const port = await startHost((socket) => void socket.on('data', (chunk) => got.push(chunk.toString())));
    const { socketPath } = await startEgress({ names: NAMES, hosts: { [`${PUBLIC}:80`]: port } });
    const head = ['GET http://example.org/ HTTP/1.1', 'Host: example.org', ...Array<string>(1100).fill('a: b')];
    void sendRaw(socketPath, [...head, 'Transfer-Encoding: chunked', '', '4', 'body', '0', '', ''].join('\r\n'));
    await expect.poll(() => got.join('')).toMatch(/\r\n\r\n4\r\nbody\r\n0\r\n\r\n$/);
    expect(got.join('')).toContain('Transfer-Encoding: chunked\r\n');
  });

  it('of HEAD has an answer without a body', async () => {
    const { socketPath } = await web((_, response) => void response.setHeader('content-length', 5).end());
    const { answer, text } = await send(socketPath, 'http://example.org/', { method: 'HEAD' });
    expect([answer.headers['content-length'], await text()]).toEqual(['5', '']);
  });

  it('leads to a redirect that is not followed, though it goes in circles', async () => {
    let requests = 0;
    const { socketPath } = await web((_, response) => {
      requests += 1;
      response.writeHead(302, { location: 'http://example.org/' }).end();
    });
    const { answer } = await send(socketPath, 'http://example.org/');
    expect([answer.statusCode, answer.headers.location, requests]).toEqual([302, 'http://example.org/', 1]);
  });

  it('streams: the first piece arrives before the last is sent', async () => {
    const gate: { open: () => void } = { open: () => undefined };
    const { socketPath } = await web((_, response) => {
      response.write('first');
      gate.open = () => void response.end('last');
    });
    const { answer } = await send(socketPath, 'http://example.org/');
    answer.once('data', () => gate.open());
    let all = '';
    for await (const chunk of answer) all += String(chunk);
    expect(all).toBe('firstlast');
  });

  it('breaks off where the host does, instead of looking complete', async () => {
    const { socketPath, lines } = await web((_, response) => {
      response.write('half');
      setTimeout(() => response.destroy(), 20);
    });
    const { text } = await send(socketPath, 'http://example.org/');
    await expect(text()).rejects.toThrow(/aborted/);
    await expect.poll(lines).toMatchObject([{ verdict: 'allowed', reason: 'the answer broke off' }]);
  });

  it('is over for the host when the client is gone', async () => {
    let isClosed = false;
    const { socketPath } = await web((_, response) => {
      response.write('x');
      response.once('close', () => {
        isClosed = true;
      });
    });
    const { answer } = await send(socketPath, 'http://example.org/');
    answer.destroy();
    await expect.poll(() => isClosed).toBe(true);
  });

  it('holds back a host that sends faster than the client reads', async () => {
    let sent = 0;
    const { socketPath } = await web((_, response) => {
      const more = (): void => {
        for (let takes = !response.destroyed; takes; sent += 65_536) takes = response.write(Buffer.alloc(65_536));
      };
      response.on('drain', more);
      more();
    });
    await ask(socketPath, 'GET http://example.org/ HTTP/1.1\r\nHost: example.org\r\n\r\n');
    let last = -1;
    const rests = (): boolean => {
      const still = sent === last;
      last = sent;
      return still;
    };
    await expect.poll(rests, { interval: 300, timeout: 10_000 }).toBe(true);
    expect(sent).toBeLessThan(32 << 20);
  });

  it('ends with the session', async () => {
    const { socketPath, session, lines } = await web((_, response) => void response.write('x'));
    const { text } = await send(socketPath, 'http://example.org/');
    await session.close();
    await expect(text()).rejects.toThrow();
    expect(lines()).toMatchObject([{ verdict: 'allowed' }]);
  });

  it('is cut off at the bytes of a turn', async () => {
    const { socketPath, lines } = await web((_, response) => void response.end(Buffer.alloc(1_000_000)), {
      egress: { bytesPerTurn: 200_000 },
    });
    const { text } = await send(socketPath, 'http://example.org/');
    await expect(text()).rejects.toThrow(/aborted/);
    await expect.poll(lines).toMatchObject([{ verdict: 'allowed', reason: 'the bytes of this turn are used up' }]);
    expect((await send(socketPath, 'http://example.org/')).answer.statusCode).toBe(403);
  });
});

describe('a request in absolute form is refused', () => {
  it.each([
    ['https in it', 'GET https://example.org/ HTTP/1.1', 'example.org', 400],
    ['another scheme', 'GET ftp://example.org/ HTTP/1.1', 'example.org', 400],
    ['a user in it', 'GET http://user@example.org/ HTTP/1.1', 'example.org', 400],
    ['another Host', 'GET http://example.org/ HTTP/1.1', 'example.com', 400],
    ['a Host with another port', 'GET http://example.org/ HTTP/1.1', 'example.org:8080', 400],
    ['loopback', 'GET http://127.0.0.1/ HTTP/1.1', '127.0.0.1', 403],
    ['metadata', 'GET http://169.254.169.254/latest/meta-data/ HTTP/1.1', '169.254.169.254', 403],
    ['a number', 'GET http://2130706433/ HTTP/1.1', '2130706433', 400],
    ['another port', 'GET http://example.org:8080/ HTTP/1.1', 'example.org:8080', 403],
    ['port 0', 'GET http://example.org:0/ HTTP/1.1', 'example.org:0', 400],
    ['a local name', 'GET http://localhost/ HTTP/1.1', 'localhost', 403],
    ['a coding', 'GET http://example.org/ HTTP/1.1\r\nTransfer-Encoding: gzip, chunked', 'example.org', 400],
    ['an upgrade', 'GET http://example.org/ HTTP/1.1\r\nConnection: upgrade\r\nUpgrade: websocket', 'example.org', 403],
    ['two lengths', 'GET http://example.org/ HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2', 'example.org', 400],
    [
      'a length and chunks',
      'GET http://example.org/ HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked',
      'example.org',
      400,
    ],
    ['too long a head', `GET http://example.org/ HTTP/1.1\r\nX: ${'x'.repeat(100_000)}`, 'example.org', 431],
  ])('with %s, and nobody is dialled', async (_, start, host, status) => {
    const body = start.endsWith('gzip, chunked') ? '0\r\n\r\n' : '';
    const { socketPath, doors } = await web(echoBack);
    const got = await sendRaw(socketPath, `${start}\r\nHost: ${host}\r\nConnection: close\r\n\r\n${body}`);
    expect(statusOf(got)).toBe(status);
    expect(doors.dialled).toEqual([]);
  });

  it('with a redirect’s private target, which the client asks for itself', async () => {
    const { socketPath, doors } = await web(
      (_, response) => void response.writeHead(302, { location: 'http://169.254.169.254/' }).end(),
    );
    const { answer } = await send(socketPath, 'http://example.org/');
    const { answer: second } = await send(socketPath, answer.headers.location ?? '');
    expect(second.statusCode).toBe(403);
    expect(doors.dialled).toHaveLength(1);
  });

  it('after its body has been taken in, so that the client hears why', async () => {
    const { socketPath } = await web(echoBack);
    const { answer, text } = await send(socketPath, 'http://10.0.0.1/', {
      method: 'POST',
      body: Buffer.alloc(3_000_000),
    });
    expect(answer.statusCode).toBe(403);
    expect(answer.statusMessage).toBe('10.0.0.1 is a private address');
    expect(await text()).toBe('tierclaw: 10.0.0.1 is a private address\n');
  });
});

describe('hosts that', () => {
  it.each<[string, string | Buffer]>([
    ['answer with garbage', Buffer.alloc(1000, 7)],
    ['answer with nothing', ''],
    ['answer with another protocol', 'SSH-2.0-OpenSSH_9.2\r\n'],
    ['answer with a head that never ends', 'HTTP/1.1 200 OK\r\nA: b\r\n'],
    ['answer with too long a head', `HTTP/1.1 200 OK\r\nA: ${'b'.repeat(200_000)}\r\n\r\n`],
    ['answer with two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab'],
    [
      'answer with a length and chunks',
      'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    ['upgrade unasked', 'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n'],
    ['answer with a broken header', 'HTTP/1.1 200 OK\r\nA\0: b\r\n\r\n'],
  ])('%s make a 502', async (_, answer) => {
    const { socketPath, lines } = await raw(answer);
    expect((await send(socketPath, 'http://example.org/')).answer.statusCode).toBe(502);
    await expect.poll(lines).toMatchObject([{ verdict: 'failed', address: PUBLIC }]);
  });

  it('never answer make a 504', async () => {
    const { socketPath } = await web(() => undefined, { timeouts: { headersMs: 100 } });
    expect((await send(socketPath, 'http://example.org/')).answer.statusCode).toBe(504);
  });

  it('answer a byte at a time make a 504, too', async () => {
    const port = await startHost((socket) => {
      socket.write('HTTP/1.1 200 OK\r\n');
      const timer = setInterval(() => socket.write('A: b\r\n'), 20);
      socket.once('close', () => clearInterval(timer));
    });
    const { socketPath } = await startEgress({
      names: NAMES,
      hosts: { [`${PUBLIC}:80`]: port },
      timeouts: { headersMs: 200 },
    });
    expect((await send(socketPath, 'http://example.org/')).answer.statusCode).toBe(504);
  });

  it('answer before they have read everything are heard', async () => {
    const { socketPath } = await web((request, response) => {
      response.writeHead(413, { connection: 'close' }).end('too much');
      request.resume();
    });
    const { answer } = await send(socketPath, 'http://example.org/', { method: 'POST', body: Buffer.alloc(200_000) });
    expect(answer.statusCode).toBe(413);
  });

  it('put a second answer behind the first don’t reach the next request', async () => {
    const port = await startHost((socket) => {
      const one = (text: string) => `HTTP/1.1 200 OK\r\nContent-Length: ${text.length}\r\n\r\n${text}`;
      socket.on('data', () => socket.write(one('mine') + one('poison')));
    });
    const { socketPath } = await startEgress({ names: NAMES, hosts: { [`${PUBLIC}:80`]: port } });
    const request = 'GET http://example.org/ HTTP/1.1\r\nHost: example.org\r\n\r\n';
    const { socket } = await ask(socketPath, request);
    const all = readAll(socket);
    await delay(200);
    socket.write(request);
    await delay(200);
    socket.destroy();
    expect(await all).not.toContain('poison');
  });
});

it.each([
  ['interim answers', '', 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'.repeat(1000)],
  [
    'what stands between the pieces of a body',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n',
    `1;x=${'y'.repeat(4000)}\r\nz\r\n`.repeat(20),
  ],
])('%s without end are cut off at the bytes of a turn', async (_, first, again) => {
  const port = await startHost((socket) => {
    const more = (): void => {
      while (socket.writable && socket.write(again));
    };
    socket.once('data', () => socket.write(first, more)).on('drain', more);
  });
  const { socketPath, lines } = await startEgress({
    names: NAMES,
    hosts: { [`${PUBLIC}:80`]: port },
    egress: { bytesPerTurn: 100_000 },
  });
  void sendRaw(socketPath, 'GET http://example.org/ HTTP/1.1\r\nHost: example.org\r\n\r\n');
  await expect.poll(lines).toMatchObject([{ reason: 'the bytes of this turn are used up' }]);
  expect(lines()[0]?.down).toBeLessThan(1_000_000);
});

it('requests with large heads use up the bytes of a turn, too', async () => {
  const { socketPath, lines } = await web((_, response) => void response.end(), { egress: { bytesPerTurn: 10_000 } });
  const headers = { 'X-Large': 'x'.repeat(12_000) };
  expect((await send(socketPath, 'http://example.org/', { headers })).answer.statusCode).toBe(200);
  await expect.poll(lines).toHaveLength(1);
  expect((await send(socketPath, 'http://example.org/')).answer.statusCode).toBe(403);
});
