/** A turn that wants to live for ever. */
import { spawn } from 'node:child_process';
import { EVERY_TIER } from '../../domain/tiers.ts';
import { held, type InsideProbe, noControl, reached } from '../probe.ts';

/** The scratch home ends every turn after 36 s; ten more for TERM, KILL and a busy machine. */
const DEADLINE_MS = 46_000;

export const termIgnored: InsideProbe = {
  kind: 'inside',
  id: 'term-ignored',
  topic: 'processes',
  tries: 'to outlive its turn by ignoring TERM and printing all the while',
  why: 'the deadline counts from dispatch, whatever is printed, and ends in KILL',
  expected: { runc: EVERY_TIER },
  control: noControl('without a deadline it would never end, and there is nothing to wait for'),
  ownTurn: true,
  attempt: async () => {
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => undefined);
    spawn('bash', ['-c', "trap '' TERM INT HUP; setsid sleep 300 & while :; do echo alive; sleep 0.2; done"], {
      stdio: 'inherit',
      detached: true,
    });
    await new Promise(() => setInterval(() => process.stdout.write('alive\n'), 200));
    return held('it came back');
  },
  after: async (_arena, { reason, elapsedMs }) => {
    const took = `${reason} after ${Math.round(elapsedMs / 1000)} s`;
    return reason === 'timeout' && elapsedMs < DEADLINE_MS ? held(took) : reached(took);
  },
};
