/** A provider that never stops talking. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { createJudge } from '../host/attack.ts';
import { peakBytes } from '../host/memory.ts';
import { hostilePrompt } from '../hostile-upstream.ts';
import { type HostProbe, noControl } from '../probe.ts';

/** What is on its way between two sockets is garbage soon; an answer that is gathered is gigabytes. */
const BYTES_MAX = 256 * 1024 * 1024;

export const hostUpstreamEndless: HostProbe = {
  kind: 'host',
  id: 'host-upstream-endless',
  topic: 'gateway',
  tries: 'to fill the host, or hold it, by an answer of the provider’s without end',
  why: 'an answer is handed on piece by piece at the reader’s pace and its bytes are counted; text beyond a million characters ends the turn',
  expected: { runc: EVERY_TIER },
  control: noControl('a host that gathers an answer before it hands it on gathers for ever: there is nothing to show'),
  attempt: async (arena) => {
    const judge = createJudge();
    const prompt = hostilePrompt('endless-text', arena.attacker.folder);
    const { result: turn, bytes } = await peakBytes(() => arena.say(arena.attacker, prompt));
    judge.breach(turn.reason !== 'output', `the turn ended with ${turn.reason} ${turn.detail}`);
    judge.breach(bytes > BYTES_MAX, `the host held ${bytes} bytes more`);
    const next = await arena.say(arena.victim, 'run: echo served-as-always');
    judge.breach(!next.reply.includes('served-as-always'), `the neighbour: ${next.reason}`);
    return judge.verdict(`ended after ${Math.round(turn.elapsedMs)} ms: ${turn.detail}; the neighbour was served`);
  },
};
