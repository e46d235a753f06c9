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
