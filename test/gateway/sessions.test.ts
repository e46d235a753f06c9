import { existsSync } from 'node:fs';
import { chmod, mkdir, stat } from 'node:fs/promises';
import { createConnection } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  answerOk,
  CHAT,
  configFor,
  openSession,
  post,
  start,
  startGateway,
  startUpstream,
  temporaryDirectory,
} from './setup.ts';

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
    const upstream = await startUpstream(answerOk);
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
