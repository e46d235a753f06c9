/** What a mistake in the operator's file is answered with: file, line, key, and what to do next. */
import { describe, expect, test } from 'vitest';
import { parseConfig } from '../src/config.ts';

const PROVIDER = 'kind: anthropic, models: [m]';

describe('a mistake in tierclaw.yaml', () => {
  test.each([
    ['an unknown key', 'turns:\n  concurrrent: 3', 'f:2: turns.concurrrent: unknown key', 'groups/templates'],
    ['an alias', 'agents: &a {}\ncaps: *a', 'f:2: *a: aliases are not allowed', 'write the value out'],
    ['a provider that isn’t there', 'queue: {}\nprovider: x', 'f:2: provider: there is no provider "x"', 'templates'],
    ['no key', `turns: {}\nproviders:\n  c: { ${PROVIDER} }`, 'f:3: providers.c: give exactly one', 'templates'],
    ['a tier', 'trusted: [local:lobby]', 'f:1: trusted: unknown key', 'register <id> --folder <folder> --tier trusted'],
  ])('%s is named with its line and a way on', (_, yaml, message, hint) => {
    expect(() => parseConfig(yaml, 'f')).toThrow(
      expect.objectContaining({
        code: 'config',
        message: expect.stringContaining(message),
        hint: expect.stringContaining(hint),
      }),
    );
  });
});

const openai = (more: string): string =>
  `providers: { a: { kind: openai-compatible, models: [m], baseUrl: "http://localhost:1", ${more} } }`;

describe('a value that tierclaw.yaml can’t have', () => {
  test.each([
    ['turns: { steps: many }', 'turns.steps: found "many"; allowed: a whole number from 1 to 1000'],
    ['turns: { steps: 1.5 }', 'turns.steps: found 1.5; allowed: a whole number from 1 to 1000'],
    ['queue: { retrySeconds: 999 }', 'queue.retrySeconds: found 999; allowed: a number from 0.01 to 300'],
    ['ceiling: { pids: 3 }', 'ceiling.pids: found 3; allowed: a whole number from 64 or null'],
    ['ceiling: { turnMinutes: 0 }', 'ceiling.turnMinutes: found 0; allowed: a number above 0 to 1440 or null'],
    ['turns: 3', 'turns: found 3; allowed: keys below it: concurrent, steps, commandSeconds'],
    ['turns:', 'turns: found nothing; allowed: keys below it: concurrent, steps, commandSeconds'],
    ['- a', '(top): found a list; allowed: keys below it: provider, providers, '],
    ['provider: [a]', 'provider: found a list; allowed: a text'],
    ['agents: { "A b": {} }', 'agents.A b: is no name for it; an agent alias is 1–64 characters'],
    ['runtime: { docker: { uid: 0 } }', 'found 0; uid 0 is refused: containers never run as root'],
    [
      `providers: { a: { ${PROVIDER} , kind: x } }`.replace('kind: anthropic, ', ''),
      'found "x"; allowed: rehearsal or anthropic or',
    ],
    ['providers: { a: { kind: openai-compatible, models: [m] } }', 'providers.a.baseUrl: missing; allowed: an address'],
    ['prices: { x: { input: 1 } }', 'prices.x.output: missing; allowed: a number from 0'],
    ['caps: { nobody: {} }', 'caps.nobody: unknown key; allowed: '],
    ['agents: { a: { x: 1 } }', 'agents.a.x: unknown key; none is allowed here'],
    [openai('apikey: X'), 'unknown key; allowed: kind, models, baseUrl, apiKey, '],
    [
      openai('models: []').replace('models: [m], ', ''),
      'providers.a.models: found a list; allowed: a list of at least 1 [',
    ],
  ])('%s: what was found and what is allowed are said', (yaml, message) => {
    expect(() => parseConfig(yaml, 'f')).toThrow(
      expect.objectContaining({ code: 'config', message: expect.stringContaining(message) }),
    );
  });

  test('is not repeated where it may be a secret', () => {
    expect(() => parseConfig(openai('apiKey: sk-live-12345'), 'f')).toThrow(
      'f:1: providers.a.apiKey: found a text of 13 characters; the name of a secret in .env',
    );
  });
});
