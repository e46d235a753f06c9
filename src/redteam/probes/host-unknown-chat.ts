/** A request that addresses a chat which is none. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { mustRefuse } from '../host/attack.ts';
import { literal } from '../host/script.ts';
import { type HostProbe, noControl } from '../probe.ts';

const CHATS = [
  'local:nowhere',
  'telegram:1',
  'local:',
  ':',
  '',
  'local:../../x',
  'LOCAL:x',
  'local:a\nb',
  '__proto__',
  'x'.repeat(300),
  'ü:1',
];

export const hostUnknownChat: HostProbe = {
  kind: 'host',
  id: 'host-unknown-chat',
  topic: 'messages',
  tries: 'to write into chats that nobody registered, and into names that are no chat at all',
  why: 'an address must be an id in the table of groups, whoever asks',
  expected: { runc: EVERY_TIER },
  control: noControl('a host without that table has nothing to look an address up in'),
  attempt: (arena) =>
    mustRefuse(arena, {
      script: `
for number, chat in enumerate(${literal(CHATS)}): request("c%d" % number, type="message", text="anybody there?", chat=chat)
report()`,
      atLeast: CHATS.length,
    }),
};
