/** What a provider's answer to a request for one token tells an operator. */

import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { parseConfig } from '../../src/config.ts';
import { type Preflight, preflight } from '../../src/gateway/preflight.ts';
import { resolveProviders } from '../../src/gateway/providers.ts';
import { createSecrets } from '../../src/secrets.ts';

const KEY = 'sk-very-secret-0123456789';
const secrets = createSecrets(new Map([['KEY', KEY]]), '/h/.env');

const ask = async (kind: string, port: number, prices = '{ m: { input: 1, output: 1 } }'): Promise<Preflight> => {
  const config = parseConfig(
    `provider: paid\nproviders: { paid: { kind: ${kind}, baseUrl: "http://127.0.0.1:${port}/v1", apiKey: KEY, models: [m] } }\nprices: ${prices}`,
    'tierclaw.yaml',
  );
  const provider = resolveProviders(config, secrets).get('paid');
  if (provider === undefined) throw new Error('no provider');
  return preflight(provider, secrets);
};

const listen = async (listener: RequestListener): Promise<number> => {
  const server = createServer(listener).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await expect.poll(() => server.listening).toBe(true);
  return (server.address() as AddressInfo).port;
};

test.each([
  ['anthropic', '/v1/messages', { 'x-api-key': KEY, 'anthropic-version': '2023-06-01' }],
  ['openai-compatible', '/v1/chat/completions', { authorization: `Bearer ${KEY}` }],
])('%s is asked for one token, with its key, at its own path', async (kind, path, headers) => {
  const heard: unknown[] = [];
  const port = await listen(async (request, response) => {
    heard.push({ url: request.url, headers: request.headers, body: JSON.parse(await text(request)) });
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  });
  expect(await ask(kind, port)).toEqual({ status: 'ok', found: 'paid answers as m', hint: null });
  expect(heard).toEqual([
    {
      url: path,
      headers: expect.objectContaining(headers),
      body: expect.objectContaining({ model: 'm', max_tokens: 1 }),
    },
  ]);
});

test('a model that answers but has no price is a warning: capped groups would be refused', async () => {
  const port = await listen((_request, response) => void response.writeHead(200).end('{}'));
  expect(await ask('openai-compatible', port, '{}')).toEqual({
    status: 'warn',
    found: expect.stringContaining('paid answers as m, but what that costs is not known'),
    hint: expect.stringContaining('prices."paid/m"'),
  });
});

test.each([
  [401, '{"error":{"message":"invalid x-api-key"}}', 'fail', 'refuses the key (401): invalid x-api-key', '.env'],
  [403, '{}', 'fail', 'refuses the key (403)', 'providers.paid'],
  [400, '{"error":{"message":"Your credit balance is too low"}}', 'fail', 'wants to be paid', 'billing'],
  [400, '{"error":{"message":"max_tokens is too small"}}', 'warn', 'refuses a tiny request', 'models'],
  [404, '{"error":"model not found"}', 'fail', 'doesn’t know the model or the path', 'baseUrl'],
  [429, '{}', 'warn', 'busy or over its limit (429)', 'wait'],
  [302, '', 'fail', 'sends elsewhere (302)', 'final address'],
  [500, '<html>\nbroken</html>', 'warn', 'in trouble (500): <html> broken</html>', 'wait'],
  [529, '{}', 'warn', 'in trouble (529)', 'wait'],
])('an answer %i %s is a %s', async (status, body, verdict, found, hint) => {
  const port = await listen((_, response) => void response.writeHead(status, { location: '/' }).end(body));
  expect(await ask('anthropic', port)).toEqual({
    status: verdict,
    found: expect.stringContaining(found),
    hint: expect.stringContaining(hint),
  });
});

test('a provider that hands the key back is quoted without it', async () => {
  const port = await listen(
    (_, response) => void response.writeHead(401).end(JSON.stringify({ error: `bad: ${KEY}` })),
  );
  const result = await ask('anthropic', port);
  expect(JSON.stringify(result)).not.toContain('very-secret');
  expect(result.found).toContain('[redacted]');
});

test('an answer without an end is read no further than its beginning', async () => {
  const port = await listen((_, response) => {
    response.writeHead(400);
    const endless = new Readable({ read: () => void endless.push('x'.repeat(65_536)) });
    // Ends with the connection, however a Node version marks a response whose client has gone.
    pipeline(endless, response, () => undefined);
  });
  expect((await ask('anthropic', port)).found.length).toBeLessThan(1_000);
});

test('nobody listening is told with the address', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await expect.poll(() => server.listening).toBe(true);
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  expect(await ask('anthropic', port)).toEqual({
    status: 'fail',
    found: `paid can’t be reached at http://127.0.0.1:${port} (ECONNREFUSED)`,
    hint: expect.stringContaining('baseUrl'),
  });
});

test('the rehearsal provider needs nobody', async () => {
  const config = parseConfig('', 'tierclaw.yaml');
  const provider = resolveProviders(config, secrets).get('rehearsal');
  if (provider === undefined) throw new Error('no provider');
  expect(await preflight(provider, secrets)).toMatchObject({ status: 'ok' });
});
