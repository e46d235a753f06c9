/** A process that stays when its turn is over. */
import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { EVERY_TIER } from '../../domain/tiers.ts';
import { held, type InsideProbe, noControl, reached } from '../probe.ts';

export const leftBehind: InsideProbe = {
  kind: 'inside',
  id: 'left-behind',
  topic: 'processes',
  tries: 'to leave a process behind that has cut all ties, and holds the output open',
  why: 'the container goes with its turn, and everything in it',
  expected: { runc: EVERY_TIER },
  control: noControl('there is nothing to show: whoever keeps the container keeps the process'),
  ownTurn: true,
  attempt: async () => {
    spawn('setsid', ['bash', '-c', "trap '' TERM HUP; exec sleep 600"], { stdio: 'inherit', detached: true }).unref();
    return held('left one behind');
  },
  after: async (arena, { invocation, reason }) => {
    const isThere = () =>
      arena.inspect(`tierclaw-${invocation.toLowerCase()}`).then(
        () => true,
        () => false,
      );
    // Its end is told before it is taken down.
    for (let tries = 0; tries < 100 && (await isThere()); tries += 1) await sleep(200);
    return (await isThere())
      ? reached('its container is still there')
      : held(`the turn ended: ${reason}; its container is gone`);
  },
};
