/** Output is read by the host. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { EVERY_TIER } from '../../domain/tiers.ts';
import { held, type InsideProbe, noControl, reached } from '../probe.ts';

export const outputFlood: InsideProbe = {
  kind: 'inside',
  id: 'output-flood',
  topic: 'limits',
  tries: 'to flood the host with output of a command',
  why: 'a command’s output is cut in the container, and reading never stops the event loop',
  expected: { runc: EVERY_TIER },
  control: noControl(
    'what is flooded without a host is a file of the engine’s; that the loop goes on is measured at every probe',
  ),
  ownTurn: true,
  attempt: async () => {
    const flood = spawn('head', ['-c', '400M', '/dev/zero'], { stdio: ['ignore', 'inherit', 'inherit'] });
    await once(flood, 'exit');
    return held('wrote 400 MB');
  },
  after: async (_arena, { reason, reply }) =>
    reply.length > 1_000_000 ? reached(`${reply.length} characters came through`) : held(`the turn ended: ${reason}`),
};
