/** `tierclaw spend` over a real home: rows per group and day, beside the caps that hold. */
import { writeFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { GroupId } from '../../src/domain/ids.ts';
import type { Home } from '../../src/home.ts';
import { openStores } from '../../src/store/stores.ts';
import { run, temporaryHome } from './home-fixture.ts';

const CAPS = { requestsPerMinute: 100, tokensPerDay: null, usdPerDay: null };
const DAY_MS = 86_400_000;

const useOf = (home: Home, id: string, { daysAgo = 0, tokens = 0, usd = 0 } = {}): void => {
  const stores = openStores(home, () => Date.now() - daysAgo * DAY_MS);
  const amount = { inputTokens: tokens, outputTokens: 1, nanoUsd: usd * 1_000_000_000 };
  stores.spend.reserve({ group: GroupId.parse(id), caps: CAPS, amount });
  stores.close();
};

const usedHome = async (): Promise<Home> => {
  const home = await temporaryHome();
  await run(home, ['init']);
  useOf(home, 'local:lobby', { daysAgo: 8, tokens: 1 });
  useOf(home, 'local:lobby', { daysAgo: 3, tokens: 50_000, usd: 0.25 });
  useOf(home, 'local:lobby', { tokens: 1999, usd: 0.0312 });
  useOf(home, 'local:lobby');
  useOf(home, 'local:gone', { tokens: 7 });
  return home;
};

const today = (daysAgo = 0): string => new Date(Date.now() - daysAgo * DAY_MS).toISOString().slice(0, 10);

describe('spend', () => {
  test('shows every registered group’s today, the days before it, and what is gone but was used', async () => {
    const { text } = await run(await usedHome(), ['spend']);
    expect(text.split('\n').map((line) => line.split(/ {2,}/))).toEqual([
      ['group', 'day (UTC)', 'requests', 'tokens', 'USD'],
      ['friends', today(), '0', '0 of 2 000 000', '0.0000 of 10'],
      ['lobby', today(), '2', '2 001 of 200 000', '0.0312 of 1'],
      ['lobby', today(3), '1', '50 001 of 200 000', '0.2500 of 1'],
      ['main', today(), '0', '0 of 2 000 000', '0.0000 of 10'],
      ['local:gone', today(), '1', '8', '0.0000'],
    ]);
  });

  test('shows one group, as far back as asked, with the caps of the operator’s file', async () => {
    const home = await usedHome();
    await writeFile(home.configFile, 'caps: { untrusted: { tokensPerDay: 5000, usdPerDay: null } }\n');
    const { text, data } = await run(home, ['spend', '--group', 'lobby', '--days', '30']);
    expect(text.split('\n')).toHaveLength(4);
    expect(text).toMatch(/^lobby .* 2 001 of 5 000 +0\.0312 \(no cap\)$/m);
    expect(data).toEqual({
      today: today(),
      groups: [
        {
          group: 'local:lobby',
          folder: 'lobby',
          tier: 'untrusted',
          caps: { tokensPerDay: 5000, usdPerDay: null },
          days: [
            { day: today(), requests: 2, inputTokens: 1999, outputTokens: 2, usd: 0.0312 },
            { day: today(3), requests: 1, inputTokens: 50_000, outputTokens: 1, usd: 0.25 },
            { day: today(8), requests: 1, inputTokens: 1, outputTokens: 1, usd: 0 },
          ],
        },
      ],
    });
  });

  test('names the groups there are when one isn’t known', async () => {
    await expect(run(await usedHome(), ['spend', '--group', 'nobody'])).rejects.toMatchObject({
      code: 'not-found',
      message: expect.stringContaining('there are: friends, lobby, main'),
    });
  });

  test.each(['0', '-1', '1.5', 'week', '3661'])('takes no %s days', async (days) => {
    await expect(run(await temporaryHome(), ['spend', '--days', days])).rejects.toMatchObject({ code: 'usage' });
  });
});
