/** A provider that never stops talking. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { createJudge } from '../host/attack.ts';
import { peakBytes } from '../host/memory.ts';
import { type Hostility, hostilePrompt } from '../hostile-upstream.ts';
import { type HostProbe, noControl } from '../probe.ts';

/** What is on its way between two sockets is garbage soon; an answer that is gathered is gigabytes. */
const BYTES_MAX = 256 * 1024 * 1024;
const ENDLESS: readonly Hostility[] = ['endless-text', 'endless-line'];

export const hostUpstreamEndless: HostProbe = {
  kind: 'host',
  id: 'host-upstream-endless',
  topic: 'gateway',
  tries: 'to fill the host, or hold it, by answers of the provider’s without end: text, and one line',
  why: 'an answer is handed on piece by piece at the reader’s pace and its bytes are counted; text beyond a million characters ends the turn',
  expected: { runc: EVERY_TIER },
  control: noControl('a host that gathers an answer before it hands it on gathers for ever: there is nothing to show'),
  attempt: async (arena) => {
    const judge = createJudge();
    const ends: string[] = [];
    for (const how of ENDLESS) {
      const prompt = hostilePrompt(how, arena.attacker.folder);
      const { result: turn, bytes } = await peakBytes(() => arena.say(arena.attacker, prompt));
      ends.push(`${how}: ${turn.reason} after ${Math.round(turn.elapsedMs)} ms`);
      judge.breach(turn.reason === 'completed', `${how}: the turn completed`);
      judge.breach(bytes > BYTES_MAX, `${how}: the host held ${bytes} bytes more`);
    }
    const next = await arena.say(arena.victim, 'run: echo served-as-always');
    judge.breach(!next.reply.includes('served-as-always'), `the neighbour: ${next.reason}`);
    return judge.verdict(ends.join('; '));
  },
};
