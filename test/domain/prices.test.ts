import { describe, expect, it } from 'vitest';
import { costNanoUsd, findPrice, type Price, PriceKey, type TokenUse } from '../../src/domain/prices.ts';

const use = (change: Partial<TokenUse>): TokenUse => ({
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  cacheWriteHourTokens: 0,
  ...change,
});

const SONNET: Price = { input: 3, output: 15, cacheRead: 0.3 };
const MILLION = 1_000_000;
const USD = 1_000_000_000;

describe('a request costs', () => {
  it.each<[string, Price, Partial<TokenUse>, number]>([
    ['its input and its output', SONNET, { inputTokens: MILLION, outputTokens: MILLION }, 18 * USD],
    ['for one token what a millionth of a million costs', SONNET, { inputTokens: 1 }, 3000],
    ['a whole billionth where there is less', { input: 0.0003, output: 0 }, { inputTokens: 1 }, 1],
    [
      'no billionth for what binary fractions add',
      { input: 0.1, output: 0.2 },
      { inputTokens: 1, outputTokens: 1 },
      300,
    ],
    ['less for what was read from the cache', SONNET, { inputTokens: MILLION, cacheReadTokens: MILLION }, 0.3 * USD],
    [
      'the whole where reading from the cache has no price',
      { input: 3, output: 15 },
      { inputTokens: MILLION, cacheReadTokens: MILLION },
      3 * USD,
    ],
    ['more for what was written to the cache', SONNET, { inputTokens: MILLION, cacheWriteTokens: MILLION }, 3.75 * USD],
    ['twice for what stays there an hour', SONNET, { inputTokens: MILLION, cacheWriteHourTokens: MILLION }, 6 * USD],
    [
      'what the operator says of the cache',
      { ...SONNET, cacheWrite: 4, cacheWriteHour: 9 },
      { inputTokens: 2 * MILLION, cacheWriteTokens: MILLION, cacheWriteHourTokens: MILLION },
      13 * USD,
    ],
    [
      'no negative input where more was cached than there was',
      SONNET,
      { inputTokens: 1, cacheReadTokens: MILLION },
      0.3 * USD,
    ],
    ['nothing where nothing has a price', { input: 0, output: 0 }, { inputTokens: MILLION, outputTokens: MILLION }, 0],
  ])('%s', (_, price, used, nanoUsd) => {
    expect(costNanoUsd(price, use(used))).toBe(nanoUsd);
  });

  it.each([
    [100_000, 0.01 * USD + 0.5 * USD],
    [100_001, 0.0500005 * USD + 2.5 * USD],
  ])('of %i input tokens as a whole the short or the long price', (inputTokens, nanoUsd) => {
    const price = findPrice({}, { provider: 'a', api: 'anthropic', model: 'claude-haiku-5-5' });
    expect(costNanoUsd(price as Price, use({ inputTokens, outputTokens: MILLION }))).toBe(nanoUsd);
  });

  it('cached input rises with the long price', () => {
    const price: Price = { ...SONNET, long: { overInputTokens: 10, input: 6, output: 15 } };
    expect(costNanoUsd(price, use({ inputTokens: MILLION, cacheReadTokens: MILLION }))).toBe(0.6 * USD);
  });
});

describe('the price of a model', () => {
  const price = (input: number): Price => ({ input, output: 1 });
  const find = (table: Record<string, Price>, model: string, api: 'anthropic' | 'openai-compatible' = 'anthropic') =>
    findPrice(table, { provider: 'claude', api, model })?.input ?? null;

  it.each([
    ['claude-sonnet-4-5', 3],
    ['claude-sonnet-4-5-20250929', 3],
    ['claude-sonnet-4-5-latest', 3],
    ['claude-opus-4-20250514', 15],
    ['claude-opus-4-5-20251101', 5],
    ['claude-sonnet-4-5-turbo', null],
    ['claude-sonnet-4-50', null],
    ['gpt-5', null],
    ['constructor', null],
    ['toString', null],
  ])('that we ship: %s → %s', (model, input) => {
    expect(find({}, model)).toBe(input);
  });

  it.each([
    ['gpt-5', 1.25],
    ['gpt-5-2025-08-07', 1.25],
    ['gpt-5-mini', 0.25],
    ['claude-sonnet-4-5', null],
  ])('that we ship for OpenAI’s API: %s → %s', (model, input) => {
    expect(find({}, model, 'openai-compatible')).toBe(input);
  });

  it.each<[string, Record<string, Price>, number | null]>([
    ['an exact name goes before a pattern', { 'm*': price(1), 'm-1': price(2), '*': price(3) }, 2],
    ['a longer pattern goes before a shorter one', { '*': price(1), 'm-*': price(2) }, 2],
    ['a provider’s own goes before everybody’s', { 'm-1': price(1), 'claude/m-1': price(2) }, 2],
    ['another provider’s doesn’t count', { 'openai/m-1': price(1), 'openai/*': price(1) }, null],
    ['a dot means a dot', { 'm.1': price(1) }, null],
    ['a pattern has to fit from end to end', { m: price(1), '-1': price(1) }, null],
  ])('that the operator sets: %s', (_, table, input) => {
    expect(find(table, 'm-1')).toBe(input);
  });

  it('that the operator sets goes before the shipped one, zero too', () => {
    expect(find({ '*': price(0) }, 'claude-sonnet-4-5')).toBe(0);
  });

  it.each(['', 'two words', 'x'.repeat(201)])('can’t be set for %j', (key) => {
    expect(PriceKey.safeParse(key).success).toBe(false);
  });
});
