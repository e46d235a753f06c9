/** Caps of the model's use over the whole walk: counted on the host, told in the chat, kept over a restart. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { spend } from '../../src/commands/spend.ts';
import { GroupId } from '../../src/domain/ids.ts';
import type { Home } from '../../src/home.ts';
import { openStores } from '../../src/store/stores.ts';
import { contextOf, type Installation, install } from './installation.ts';

const LOBBY = GroupId.parse('local:lobby');
const NO_CAPS = { requestsPerMinute: 100, tokensPerDay: null, usdPerDay: null };

/** As if the lobby had been talkative earlier today. */
const useUpLobby = async (home: Home): Promise<void> => {
  const stores = openStores(home, Date.now);
  stores.spend.reserve({
    group: LOBBY,
    caps: NO_CAPS,
    amount: { inputTokens: 199_000, outputTokens: 900, nanoUsd: 0 },
  });
  stores.close();
};

interface Spent {
  readonly groups: readonly {
    readonly folder: string;
    readonly caps: object;
    readonly days: readonly { readonly requests: number; readonly inputTokens: number }[];
  }[];
}

const spentBy = async (home: Home, folder: string) => {
  const { data } = await spend(contextOf(home), { group: folder, days: 1 });
  const [group] = (data as Spent).groups;
  return { caps: group?.caps, today: group?.days[0] };
};

describe('a group at its cap of the day', () => {
  let installation: Installation;

  beforeAll(async () => {
    const config = 'queue: { retries: 0 }\ncaps: { trusted: { tokensPerDay: 123456 } }\n';
    installation = await install({ config, prepare: useUpLobby });
  });
  afterAll(() => installation?.close());

  it('gets a notice instead of an answer, its message is kept, and other groups are served', async () => {
    const [lobby, friends] = await Promise.all([
      installation.say('lobby', 'hello'),
      installation.say('friends', 'run: echo $((6*7))'),
    ]);
    expect(friends.reply).toContain('42');
    expect(lobby.done.reason).toBe('failed');
    expect(lobby.done.detail).toMatch(/HTTP 429.*this chat has used 199900 tokens of today’s 200000 tokens/);
    expect(lobby.messages.join()).toMatch(/^⚠ I could not finish: .*Your message is kept/);
    expect(lobby.messages.join()).not.toContain('199900');
  });

  it('is still there after a restart', async () => {
    await installation.restart();
    expect((await installation.say('lobby', 'hello')).done.detail).toContain('of today’s 200000 tokens');
  });

  it('shows in what the operator is told, beside what others have used', async () => {
    expect(await spentBy(installation.home, 'lobby')).toMatchObject({
      caps: { tokensPerDay: 200_000, usdPerDay: 1 },
      today: { requests: 1, inputTokens: 199_000 },
    });
    const friends = await spentBy(installation.home, 'friends');
    expect(friends).toMatchObject({ caps: { tokensPerDay: 123_456, usdPerDay: 10 }, today: { requests: 2 } });
    expect(friends.today?.inputTokens).toBeGreaterThan(100);
  });
});

describe('a model that has no price', () => {
  it('is refused before anything goes to its provider, and the operator learns which key to set', async () => {
    const config = [
      'provider: paid',
      'queue: { retries: 0 }',
      'providers:',
      '  paid: { kind: anthropic, baseUrl: "http://127.0.0.1:1", apiKey: PAID_KEY, models: [model-a] }',
    ].join('\n');
    const installation = await install({ config, env: 'PAID_KEY=sk-0123456789\n' });
    try {
      const { done, messages } = await installation.say('lobby', 'hello');
      expect(done.detail).toContain('prices."paid/model-a" in tierclaw.yaml');
      expect(messages.join()).toContain('refused');
    } finally {
      await installation.close();
    }
  });
});
