import { symlink, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import type { ChatEvent } from '../../src/ops/control-protocol.ts';
import { openStores, type Stores } from '../../src/store/stores.ts';
import { createFaultTable } from './fault-table.ts';
import { type Installation, install } from './installation.ts';

/** An engine that comes and goes: a link to the real one's socket. */
const withEngineLink = async (queue: string): Promise<{ installation: Installation; link: string }> => {
  const place = { link: '' };
  const installation = await install({
    prepare: async (home) => {
      place.link = join(home.dir, 'engine.sock');
      await writeFile(home.configFile, `runtime: { docker: { socket: ${place.link} } }\nqueue: ${queue}\n`);
    },
  });
  return { installation, link: place.link };
};

const inStores = <T>({ home }: Installation, work: (stores: Stores) => T): T => {
  const stores = openStores(home, Date.now);
  try {
    return work(stores);
  } finally {
    stores.close();
  }
};

describe('trouble that passes', () => {
  const faults = createFaultTable('Faults: an engine that can’t be reached');
  afterAll(() => faults.print());

  const open: Installation[] = [];
  afterEach(async () => {
    await Promise.all(open.splice(0).map((installation) => installation.close()));
  });

  it('is waited out: a message that met no engine is answered once the engine is back, once', async () => {
    const { installation, link } = await withEngineLink('{ retrySeconds: 0.5 }');
    open.push(installation);
    const heard: ChatEvent[] = [];
    for await (const event of installation.events('lobby', 'run: echo back again')) {
      heard.push(event);
      if (event.kind === 'postponed') await symlink('/var/run/docker.sock', link).catch(() => undefined);
    }
    expect(heard.at(-1)).toMatchObject({ kind: 'done', reason: 'completed' });
    expect(heard.filter(({ kind }) => kind === 'message')).toHaveLength(1);
    const runs = inStores(installation, ({ invocations }) => invocations.list({ limit: 10 }));
    expect(runs.map(({ reason }) => reason).sort()).toEqual(['completed', 'failed']);
    faults.note({ step: 'start', broken: 'engine away, then back', happened: 'tried again, answered once' });
  });

  it('that does not pass becomes a dead letter with one notice, and a replay is answered', async () => {
    const { installation, link } = await withEngineLink('{ retries: 2, retrySeconds: 0.1 }');
    open.push(installation);
    const { done, messages } = await installation.say('lobby', 'run: echo better late');
    expect(done.reason).toBe('failed');
    expect(messages).toEqual([expect.stringContaining('container engine')]);
    await symlink('/var/run/docker.sock', link);
    const dead = inStores(installation, ({ deadMessages }) => {
      const list = deadMessages.list();
      for (const { seq } of list) deadMessages.replay(seq);
      return list;
    });
    expect(dead).toMatchObject([{ attempts: 3, message: { text: 'run: echo better late' } }]);
    const answers = () =>
      inStores(installation, ({ messages: history }) =>
        history
          .recent('local:lobby' as never, 10)
          .filter(({ fromMe, text }) => fromMe && text.startsWith('better late')),
      );
    await expect.poll(() => answers().length, { timeout: 20_000 }).toBe(1);
    await expect.poll(installation.containers).toEqual([]);
    await unlink(link);
    faults.note({
      step: 'start',
      broken: 'engine away for all attempts',
      happened: 'one notice, dead letter; answered once after a replay',
    });
  });
});
