/** What happens to the turn then. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { held, type InsideProbe, noControl, reached } from '../probe.ts';
import { pythonProbe } from '../python.ts';

export const killEverything: InsideProbe = {
  kind: 'inside',
  id: 'kill-everything',
  topic: 'processes',
  tries: 'to kill every process that it may, the runner among them',
  why: 'the turn ends, its container is gone, and the chat is told',
  expected: { runc: EVERY_TIER },
  control: noControl('it only harms its own turn, here and there'),
  ownTurn: true,
  attempt: (kit) =>
    pythonProbe(
      kit,
      `
os.kill(-1, 9)
found(False, 'nothing happened')
`,
    ),
  after: async (_arena, { reason }) =>
    reason === 'completed' ? reached('the turn counts as completed') : held(`the turn ended: ${reason}`),
};
