import { createConnection } from 'node:net';
import { describe, expect, it } from 'vitest';
import { ASK, answerOk, post, sendRaw, start } from './setup.ts';

describe('hostile bytes', () => {
  const LIMITS = { connections: 8, headerBytes: 8192, headersMs: 300, requestMs: 600, keepAliveMs: 300 };

  it.each<[string, string | Buffer, string]>([
    ['an upgrade', 'GET / HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n', 'HTTP/1.1 403'],
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
    const { socketPath, upstream, session } = await start(answerOk, {}, { clientLimits: LIMITS });
    expect((await sendRaw(socketPath, bytes)).slice(0, answer.length)).toBe(answer);
    expect(upstream.received).toEqual([]);
    expect(session.use().requests).toBe(0);
    // Node itself answers a request without a Host.
    expect(session.use().refusals).toBe(bytes.includes('host: x') || !bytes.includes('HTTP') ? 1 : 0);
    expect((await post(socketPath)).statusCode).toBe(200);
  });

  it('a Host that differs changes nothing about where a request goes', async () => {
    const { socketPath, upstream } = await start(answerOk);
    const body = JSON.stringify(ASK);
    const head = ['POST /model/claude/v1/messages HTTP/1.1', 'host: evil.example', 'connection: close'];
    const rest = ['content-type: application/json', `content-length: ${body.length}`, '', body];
    expect(await sendRaw(socketPath, [...head, ...rest].join('\r\n'))).toMatch(/^HTTP\/1.1 200/);
    expect(upstream.received[0]?.headers.host).toBe(`127.0.0.1:${upstream.port}`);
  });

  it('and resets in every phase leave the gateway standing', async () => {
    const { socketPath } = await start(answerOk, {}, { clientLimits: { ...LIMITS, connections: 64 } });
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
    const { socketPath } = await start(answerOk, {}, { clientLimits: { ...LIMITS, headersMs: 2000, requestMs: 2000 } });
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
        let hasRoom = true;
        while (!response.destroyed && hasRoom) {
          written += 60_000;
          hasRoom = response.write(`data: ${'x'.repeat(60_000)}\n\n`);
        }
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
        { interval: 300, timeout: 10_000 },
      )
      .toBe(true);
    expect(written).toBeGreaterThan(100_000);
    expect(written).toBeLessThan(32 << 20);
    await session.close();
  });
});
