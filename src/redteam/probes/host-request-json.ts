/** A request file whose JSON is a weapon. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { mustRefuse } from '../host/attack.ts';
import { inChild, naive } from '../host/naive.ts';
import { literal } from '../host/script.ts';
import { type HostProbe, held, reached } from '../probe.ts';

/** It takes the request apart and writes it into its log. */
const PARSE_AND_LOG = `
const text = '['.repeat(500000) + ']'.repeat(500000);
JSON.stringify(JSON.parse(text));`;

export const hostRequestJson: HostProbe = {
  kind: 'host',
  id: 'host-request-json',
  topic: 'messages',
  tries:
    'to crash, hold or mislead the host by JSON: nested half a million deep, half a million parts, keys given twice, bytes that are no UTF-8, `__proto__`',
  why: 'bytes are checked as UTF-8, counted in one cheap pass and only then parsed, against a schema that takes no unknown key',
  expected: { runc: EVERY_TIER },
  control: naive(async () => {
    const { failed, stderr } = await inChild(PARSE_AND_LOG, [], 20_000);
    return failed ? reached(`a plain parse and log ended the process: ${stderr.slice(0, 200)}`) : held('it went on');
  }),
  attempt: (arena) =>
    mustRefuse(arena, {
      script: `
def content(bytes): return lambda path, id: put(path, bytes.replace(b"ID", id.encode()))
elsewhere = ${literal('local:nowhere-at-all')}
plant("deep", content(b"[" * 1000000))
plant("deep-object", content(b'{"a":' * 150000))
plant("wide", content(b"[" + b"0," * 500000 + b"0]"))
plant("many-keys", content(b'{' + b'"a":0,' * 150000 + b'"type":"message","id":"ID","text":"x"}'))
plant("twice-id", content(b'{"type":"message","id":"ID","id":"../ID","text":"x"}'))
plant("twice-chat", content(b'{"type":"message","id":"ID","chat":"own","text":"x","chat":"' + elsewhere.encode() + b'"}'))
plant("twice-type", content(b'{"type":"message","id":"ID","text":"x","type":"register_group"}'))
plant("prototype", content(b'{"type":"message","id":"ID","text":"x","__proto__":{"ok":true}}'))
plant("not-utf8", content(b'{"type":"message","id":"ID","text":"\\xff\\xfe"}'))
plant("overlong", content(b'{"type":"message","id":"ID","text":"\\xc0\\xae"}'))
plant("utf16", content('{"type":"message","id":"ID","text":"x"}'.encode("utf-16")))
plant("long-text", content(b'{"type":"message","id":"ID","text":"' + b"a" * 900000 + b'"}'))
report()`,
      atLeast: 12,
    }),
};
