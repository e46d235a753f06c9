import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { GroupId } from '../../src/domain/ids.ts';
import { openStores } from '../../src/store/stores.ts';
import { createFaultTable } from './fault-table.ts';
import { type Installation, install } from './installation.ts';
import { LAG_MS_MAX, measureLag } from './loop-lag.ts';

const FOLDERS = ['lobby', 'friends', 'main'];
const HELD_MS = 3_000;

/** A process of its own with a write transaction on that file; resolves when it has it. */
const holdLock = async (file: string) => {
  const script = `
    const database = new (require('better-sqlite3'))(process.argv[1]);
    database.exec('BEGIN IMMEDIATE');
    process.stdout.write('held');
    setTimeout(() => database.exec('COMMIT'), ${HELD_MS});`;
  const child = execa(process.execPath, ['-e', script, file], { buffer: false });
  await once(child.stdout, 'data');
  return { released: () => child };
};

describe('a database that another process holds for seconds', () => {
  const faults = createFaultTable('Faults: database busy');
  let installation: Installation;

  beforeAll(async () => {
    installation = await install();
  });
  afterAll(async () => {
    await installation?.close();
    faults.print();
  });

  /** Who said something with `words` in it in that chat, in order. */
  const speakers = (folder: string, words: string): string[] => {
    const stores = openStores(installation.home, Date.now);
    try {
      const all = stores.messages.recent(GroupId.parse(`local:${folder}`), 100);
      return all.filter(({ text }) => text.includes(words)).map(({ fromMe }) => (fromMe ? 'agent' : 'person'));
    } finally {
      stores.close();
    }
  };

  const notFreezing = async <T>(step: string, file: string, act: () => Promise<T>): Promise<T> => {
    const lock = await holdLock(file);
    const begun = performance.now();
    const { result, lagMs } = await measureLag(act);
    const tookMs = Math.round(performance.now() - begun);
    await lock.released();
    expect(lagMs).toBeLessThan(LAG_MS_MAX);
    const happened = `the loop was held for ${Math.round(lagMs)} ms at most; answered once after ${tookMs} ms`;
    faults.note({ step, broken: `lock of ${HELD_MS} ms`, happened });
    return result;
  };

  it.each(['stateDatabase', 'messageDatabase'] as const)(
    'before a message comes in (%s): it waits, the loop doesn’t, and each is answered once',
    async (key) => {
      const words = `waited for ${key}`;
      const results = await notFreezing(`receive, ${key}`, installation.home[key], () =>
        Promise.all(FOLDERS.map((folder) => installation.say(folder, `run: echo ${words}`))),
      );
      expect(results.map(({ done }) => done.reason)).toEqual(['completed', 'completed', 'completed']);
      for (const folder of FOLDERS) expect(speakers(folder, words)).toEqual(['person', 'agent']);
    },
  );

  it('in the middle of a turn and at its end: the turn is settled once, and its answer is there once', async () => {
    const events = installation.events('lobby', 'run: sleep 1; echo in the middle');
    const heard: string[] = [];
    const rest = async (): Promise<void> => {
      for await (const event of events) {
        heard.push(event.kind);
        if (event.kind === 'thinking') await locked.begin();
      }
    };
    const locked = {
      child: null as Awaited<ReturnType<typeof holdLock>> | null,
      begin: async () => {
        locked.child = await holdLock(installation.home.stateDatabase);
      },
    };
    const { lagMs } = await measureLag(rest);
    await locked.child?.released();
    expect(locked.child).not.toBeNull();
    expect(lagMs).toBeLessThan(LAG_MS_MAX);
    expect(heard.at(-1)).toBe('done');
    await delay(1_500);
    expect(speakers('lobby', 'in the middle')).toEqual(['person', 'agent']);
    expect(installation.app.supervisor.status()).toMatchObject({ running: [], waiting: [] });
    faults.note({
      step: 'running',
      broken: `lock of ${HELD_MS} ms`,
      happened: `the loop was held for ${Math.round(lagMs)} ms at most; settled and answered once`,
    });
  });
});
