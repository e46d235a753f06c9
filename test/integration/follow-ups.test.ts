import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openStores } from '../../src/store/stores.ts';
import { type Installation, install } from './installation.ts';

describe('a message that arrives while a turn of its chat runs', () => {
  let installation: Installation;
  beforeAll(async () => {
    // Far more requests in a minute than a public chat gets.
    installation = await install({ config: 'caps: { untrusted: { requestsPerMinute: 1000, tokensPerDay: null } }\n' });
  });
  afterAll(() => installation?.close());

  const answersWith = (word: string): number => {
    const stores = openStores(installation.home, Date.now);
    try {
      const history = stores.messages.recent('local:lobby' as never, 200);
      const said = history.filter(({ fromMe }) => fromMe).map(({ text }) => text);
      return said.join('\n').split(`«${word}»`).length - 1;
    } finally {
      stores.close();
    }
  };

  // From before the container is there until after its turn has ended.
  const delays = [0, 30, 100, 200, 300, 400, 500, 600, 700, 800, 900, 1000, 1100, 1300, 1600];

  it.each(delays)('%i ms after the first is answered exactly once', async (afterMs) => {
    const first = installation.say('lobby', `run: sleep 0.5; echo "«first-${afterMs}»"`);
    await delay(afterMs);
    const second = installation.say('lobby', `run: echo "«second-${afterMs}»"`);
    const ends = await Promise.all([first, second]);
    expect(ends.map(({ done }) => done.reason)).toEqual(['completed', 'completed']);
    expect(answersWith(`second-${afterMs}`)).toBe(1);
    expect(answersWith(`first-${afterMs}`)).toBeLessThanOrEqual(1);
  });

  it('is taken in by the running turn where there is time: one turn answers both', async () => {
    const first = installation.say('lobby', 'run: sleep 2; echo one');
    await delay(1000);
    const second = installation.say('lobby', 'run: echo two');
    const [one, two] = await Promise.all([first, second]);
    expect(two.done.invocation).toBe(one.done.invocation);
  });

  it('and that the untrusted container reads in its database', async () => {
    const first = installation.say('lobby', 'run: sleep 2');
    await delay(1000);
    const query = `sqlite3 /workspace/store/messages.db "select count(*) from messages where content like '%needle-77%'"`;
    const { reply } = await installation.say('lobby', `run: : needle-77; ${query}`);
    expect(reply).toMatch(/^1$/m);
    await first;
  });
});
