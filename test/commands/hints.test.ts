/** A hint is a command that can be given as it stands. */
import { expect, test } from 'vitest';
import { hintFor } from '../../src/commands/hints.ts';

test.each([
  ['tierclaw up --detach', undefined, 'tierclaw up --detach'],
  ['tierclaw up --detach', '/h', 'tierclaw --home /h up --detach'],
  [
    'stop it with: tierclaw down, then tierclaw up',
    '/h',
    'stop it with: tierclaw --home /h down, then tierclaw --home /h up',
  ],
  ['tierclaw logs', "/a b/it's $HOME", "tierclaw --home '/a b/it'\\''s $HOME' logs"],
  ['tierclaw logs', '/$&', "tierclaw --home '/$&' logs"],
  ['tierclaw init --home /h', '/h', 'tierclaw init --home /h'],
  ['mend the file groups/templates/tierclaw.yaml', '/h', 'mend the file groups/templates/tierclaw.yaml'],
  ['the label tierclaw.home of tierclaw-agent', '/h', 'the label tierclaw.home of tierclaw-agent'],
])('%j for the home %s is %j', (hint, homeOption, expected) => {
  expect(hintFor(hint, homeOption)).toBe(expected);
});
