/** Inside probes in turns: many in one, the destructive ones alone. What a turn did not tell of is asked once more. */

import type { OpenArena } from './arena.ts';
import { LAG_MS_MAX } from './lag.ts';
import { PROBES_FOLDER } from './lay-out.ts';
import type { InsideProbe, TurnEnd } from './probe.ts';
import { type Report, readReports } from './report-line.ts';

/** A turn with so many is over in a few seconds, far from every limit. */
export const PROBES_PER_TURN = 12;

const messageFor = (probes: readonly InsideProbe[]): string =>
  `run: node /workspace/group/${PROBES_FOLDER}/probes.mjs ${probes.map(({ id }) => id).join(',')}`;

const silence = ({ reason, detail, reply }: TurnEnd): Report => ({
  error: `its turn said nothing of it and ended: ${reason}${detail === null ? '' : `, ${detail}`}${reply === '' ? '' : `; “${reply.slice(-120)}”`}`,
});

/** Either finding may say that the attack got there; an attempt that couldn't speak is judged by what the host saw. */
const joinFindings = (inside: Report, after: Report): Report => {
  if ('reached' in after && after.reached) return after;
  if (!('reached' in inside)) return after;
  if (inside.reached || !('reached' in after)) return inside;
  return { reached: false, evidence: `${inside.evidence}; ${after.evidence}` };
};

const judgeAfter = async (arena: OpenArena, probe: InsideProbe, turn: TurnEnd): Promise<Report> => {
  const inside = readReports(turn.reply).get(probe.id) ?? silence(turn);
  if (probe.after === undefined) return inside;
  return joinFindings(inside, await probe.after(arena, turn));
};

const attempt = async (arena: OpenArena, probe: InsideProbe): Promise<Report> => {
  await arena.begin();
  const turn = await arena.say(arena.attacker, messageFor([probe]));
  return judgeAfter(arena, probe, turn);
};

/** A longer one is not tried twice for a lag that may have been the machine's. */
const REPEATED_MS_MAX = 20_000;

/** What else runs on the machine may lag the loop once, but hardly at the same probe again. */
export const withoutLag = async (arena: OpenArena, act: () => Promise<Report>): Promise<Report> => {
  const startedMs = performance.now();
  const first = await act();
  const isFine = arena.lagMs() < LAG_MS_MAX || !('reached' in first) || first.reached;
  if (isFine || performance.now() - startedMs > REPEATED_MS_MAX) return first;
  const second = await act();
  const lagMs = Math.round(arena.lagMs());
  if (lagMs < LAG_MS_MAX || !('reached' in second) || second.reached) return second;
  return { reached: true, evidence: `it held the supervisor’s event loop for ${lagMs} ms (at most ${LAG_MS_MAX})` };
};

export const runAlone = (arena: OpenArena, probe: InsideProbe): Promise<Report> =>
  withoutLag(arena, () => attempt(arena, probe));

/** Those with an `after` see the same turn; those that went unheard get a turn of their own. */
export const runTogether = async (
  arena: OpenArena,
  probes: readonly InsideProbe[],
): Promise<ReadonlyMap<string, Report>> => {
  await arena.begin();
  const turn = await arena.say(arena.attacker, messageFor(probes));
  const heard = readReports(turn.reply);
  const reports = new Map<string, Report>();
  for (const probe of probes) {
    const isHeard = heard.has(probe.id);
    reports.set(probe.id, isHeard ? await judgeAfter(arena, probe, turn) : await attempt(arena, probe));
  }
  return reports;
};
