import { readFile, unlink, writeFile } from 'node:fs/promises';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { imageFile } from '../../src/planning.ts';
import { openStores } from '../../src/store/stores.ts';
import { type Installation, type InstallationOptions, install } from './installation.ts';

/** Every refusal: a short notice in the chat, the details for the operator, the message kept, no container left. */
describe('when something is wrong', () => {
  const open: { installation: Installation | null; server: Server | null } = { installation: null, server: null };

  const setUp = async (options: InstallationOptions = {}): Promise<Installation> => {
    open.installation = await install(options);
    return open.installation;
  };

  const upstream = async (listener: RequestListener): Promise<number> => {
    const server = createServer(listener);
    open.server = server;
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return (server.address() as AddressInfo).port;
  };

  afterEach(async () => {
    await open.installation?.close();
    open.server?.closeAllConnections();
    open.server?.close();
    open.installation = null;
    open.server = null;
  });

  const expectKept = async ({ home, containers, app }: Installation, text: string): Promise<void> => {
    await expect.poll(containers).toEqual([]);
    await app.close();
    const stores = openStores(home, Date.now);
    try {
      expect(stores.messages.recent('local:lobby' as never, 10).map(({ text: kept }) => kept)).toContain(text);
    } finally {
      stores.close();
    }
  };

  const anthropic = (port: number): InstallationOptions => ({
    config: `provider: paid\nqueue: { retries: 0 }\nprices: { model-a: { input: 3, output: 15 } }\nproviders:\n  paid:\n    kind: anthropic\n    baseUrl: http://127.0.0.1:${port}\n    apiKey: PAID_KEY\n    models: [model-a]\n`,
    env: 'PAID_KEY=sk-very-secret-value-0123456789\n',
  });

  it.each([
    ['401', 401, 'refused'],
    ['429', 429, 'busy'],
    ['500', 500, 'does not answer'],
  ])('a provider that answers %s ends the turn with a notice', async (_, status, words) => {
    const port = await upstream((_request, response) => {
      response.writeHead(status, { 'content-type': 'application/json', 'retry-after': '0' });
      response.end('{"type":"error","error":{"type":"api_error","message":"sk-very-secret-value-0123456789"}}');
    });
    const installation = await setUp(anthropic(port));
    const { done, messages } = await installation.say('lobby', 'hello');
    expect(done.reason).toBe('failed');
    expect(messages.join()).toContain(words);
    expect(JSON.stringify([done, messages])).not.toContain('very-secret');
    await expectKept(installation, 'hello');
  });

  it('a provider that answers garbage ends the turn with a notice', async () => {
    const port = await upstream((_request, response) => response.end('<html>it works</html>'));
    const installation = await setUp(anthropic(port));
    const { done, messages } = await installation.say('lobby', 'hello');
    expect(done.reason).toBe('failed');
    expect(messages.join()).toContain('kept');
  });

  it('a provider that nobody listens for ends the turn with a notice', async () => {
    const installation = await setUp(anthropic(1));
    const { done, messages } = await installation.say('lobby', 'hello');
    expect(done.reason).toBe('failed');
    expect(messages.join()).toContain('does not answer');
  });

  it('an engine that is down at start ends the turn with a notice, and the supervisor stays up', async () => {
    const installation = await setUp({
      prepare: (home) =>
        writeFile(
          home.configFile,
          'runtime: { docker: { socket: /nonexistent/docker.sock } }\nqueue: { retries: 0 }\n',
        ),
    });
    expect(installation.app.supervisor.status().engine).toBeNull();
    const { done, messages } = await installation.say('lobby', 'hello');
    expect(done.reason).toBe('failed');
    expect(done.detail).toContain('/nonexistent/docker.sock');
    expect(messages.join()).toContain('container engine');
    expect(messages.join()).not.toContain('/nonexistent');
    await expectKept(installation, 'hello');
  });

  it('a missing image names the command that builds it', async () => {
    const installation = await setUp({ prepare: (home) => unlink(imageFile(home)) });
    const { done, messages } = await installation.say('lobby', 'hello');
    expect(done.detail).toContain('tierclaw image build');
    expect(messages.join()).toContain('image is missing');
    await expectKept(installation, 'hello');
  });

  it('a missing public persona stops the turn instead of going without', async () => {
    const installation = await setUp({ prepare: (home) => unlink(join(home.global, 'SOUL-untrusted.md')) });
    const { done } = await installation.say('lobby', 'hello');
    expect(done.detail).toContain('SOUL-untrusted.md is missing');
    expect((await installation.say('main', 'run: true')).done.reason).toBe('completed');
  });

  it('the hard limit counts from dispatch, whatever the container prints', async () => {
    const installation = await setUp({ config: 'ceiling: { turnMinutes: 0.1 }\n' });
    const startedAt = Date.now();
    const { done, messages } = await installation.say('lobby', 'run: while true; do echo still here; sleep 0.1; done');
    expect(done.reason).toBe('timeout');
    expect(messages.join()).toContain('longer than a turn may take');
    await expect.poll(installation.containers).toEqual([]);
    expect(Date.now() - startedAt).toBeLessThan(6_000 + 5_000);
  });

  it('a key is in no container, no inspect, no log and no audit line, and reaches the provider', async () => {
    const heard: string[] = [];
    const port = await upstream((request, response) => {
      heard.push(String(request.headers['x-api-key']));
      response.writeHead(529, { 'content-type': 'application/json' }).end('{}');
    });
    const installation = await setUp(anthropic(port));
    const turn = installation.say('main', 'hello');
    await expect.poll(async () => (await installation.containers())[0]?.State, { timeout: 10_000 }).toBe('running');
    const [found] = await installation.containers();
    const inspected = await installation.docker.getContainer(found?.Id ?? '').inspect();
    expect(JSON.stringify(inspected)).not.toContain('very-secret');
    await turn;
    expect(heard[0]).toBe('sk-very-secret-value-0123456789');
    const audit = await readFile(installation.home.auditFile, 'utf8').catch(() => '');
    expect(audit).not.toContain('very-secret');
  });
});
