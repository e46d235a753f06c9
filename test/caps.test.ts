/** Caps and prices in the operator's file: what is taken, what is refused and how, and what a plan then says. */
import { describe, expect, it } from 'vitest';
import { parseConfig } from '../src/config.ts';
import { TIER_NAMES, tierRow } from '../src/domain/tiers.ts';
import { AppError } from '../src/errors.ts';
import { homeAt } from '../src/home.ts';
import { exampleGroup, examplePlan } from '../src/planning.ts';

const planned = (yaml: string, tier: (typeof TIER_NAMES)[number]) =>
  examplePlan({ home: homeAt('/nowhere'), config: parseConfig(yaml, 'f'), image: 'i' }, exampleGroup(tier)).model;

const problem = (yaml: string): string => {
  try {
    parseConfig(yaml, 'tierclaw.yaml');
  } catch (thrown) {
    if (thrown instanceof AppError) return thrown.message;
    throw thrown;
  }
  return 'taken';
};

describe('caps in the operator’s file', () => {
  it.each(TIER_NAMES)('leave %s as it is where they say nothing', (tier) => {
    expect(planned('', tier)).toMatchObject(tierRow(tier).model);
  });

  it('change what they name, in either direction, for that tier alone', () => {
    const yaml = 'caps: { untrusted: { requestsPerMinute: 500, maxTokens: 100, usdPerDay: 0 } }';
    const own = tierRow('untrusted').model;
    expect(planned(yaml, 'untrusted')).toMatchObject({ ...own, requestsPerMinute: 500, maxTokens: 100, usdPerDay: 0 });
    expect(planned(yaml, 'trusted')).toMatchObject(tierRow('trusted').model);
  });

  it('switch a day’s cap off with null', () => {
    const yaml = 'caps: { main: { tokensPerDay: null, usdPerDay: null } }';
    expect(planned(yaml, 'main')).toMatchObject({ tokensPerDay: null, usdPerDay: null });
  });

  it.each([
    ['caps: { guests: { usdPerDay: 1 } }', /^tierclaw.yaml:1: caps/],
    ['caps: { trusted: { dollars: 1 } }', /caps\.trusted\.dollars: unknown key/],
    ['caps:\n  trusted:\n    usdPerDay: -1', /^tierclaw.yaml:3: caps\.trusted\.usdPerDay/],
    ['caps: { trusted: { usdPerDay: .inf } }', /caps\.trusted\.usdPerDay/],
    ['caps: { trusted: { usdPerDay: .nan } }', /caps\.trusted\.usdPerDay/],
    ['caps: { trusted: { usdPerDay: "1" } }', /caps\.trusted\.usdPerDay/],
    ['caps: { trusted: { tokensPerDay: 1.5 } }', /caps\.trusted\.tokensPerDay/],
    ['caps: { trusted: { requestsPerMinute: null } }', /caps\.trusted\.requestsPerMinute/],
    ['caps: { trusted: { requestsPerMinute: 0 } }', /caps\.trusted\.requestsPerMinute/],
    ['caps: { trusted: { concurrent: 1000 } }', /caps\.trusted\.concurrent/],
  ])('are refused as %j', (yaml, message) => {
    expect(problem(yaml)).toMatch(message);
  });
});

describe('prices in the operator’s file', () => {
  const local = (url: string, price: string): string =>
    `providers: { l: { kind: openai-compatible, baseUrl: "${url}", models: [m], price: ${price} } }`;

  it.each([
    'prices: { m: { input: 0, output: 0 } }',
    'prices: { "claude/*": { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75, cacheWriteHour: 6 } }',
    'prices: { m: { input: 1, output: 2, long: { overInputTokens: 100000, input: 5, output: 10 } } }',
    local('http://127.0.0.1:11434/v1', '0'),
    local('http://localhost:8080', '0'),
    local('http://[::1]:8080', '0'),
  ])('are taken as %s', (yaml) => {
    expect(problem(yaml)).toBe('taken');
  });

  it.each([
    ['prices: { m: { input: 1 } }', /prices\.m\.output/],
    ['prices: { m: { input: -1, output: 1 } }', /prices\.m\.input/],
    ['prices: { m: 0 }', /prices\.m/],
    ['prices: { "a b": { input: 1, output: 1 } }', /prices/],
    [local('http://127.0.0.1:1', '1'), /providers\.l\.price/],
    [local('https://api.example.com/v1', '0'), /providers\.l\.price: found 0; 0 is for a server on this machine/],
    [local('http://127.0.0.1.example.com', '0'), /providers\.l\.price/],
    [local('http://localhost.example.com', '0'), /providers\.l\.price/],
    [local('http://127.0.0.1@example.com', '0'), /providers\.l\.price/],
    ['providers: { c: { kind: anthropic, apiKey: K, models: [m], price: 0 } }', /providers\.c\.price: unknown key/],
  ])('are refused as %s', (yaml, message) => {
    expect(problem(yaml)).toMatch(message);
  });
});
