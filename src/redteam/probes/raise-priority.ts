/** Before everybody else on the machine. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { type InsideProbe, privilegedContainer } from '../probe.ts';
import { pythonProbe } from '../python.ts';

export const raisePriority: InsideProbe = {
  kind: 'inside',
  id: 'raise-priority',
  topic: 'limits',
  tries: 'to raise its scheduling priority',
  why: 'it needs a capability that isn’t there',
  expected: { runc: EVERY_TIER },
  control: privilegedContainer,
  attempt: (kit) =>
    pythonProbe(
      kit,
      `
judge('setpriority', call('setpriority', 0, 0, -5))
`,
    ),
};
