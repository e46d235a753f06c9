/** What only the machine’s owner does: swap areas, reboot. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { type InsideProbe, privilegedContainer } from '../probe.ts';
import { pythonProbe } from '../python.ts';

export const machineControls: InsideProbe = {
  kind: 'inside',
  id: 'machine-controls',
  topic: 'kernel',
  tries: 'to reach the calls for swap and reboot',
  why: 'neither is in the filter’s list, and their capabilities are not there',
  expected: { runc: EVERY_TIER },
  control: privilegedContainer,
  attempt: (kit) =>
    pythonProbe(
      kit,
      `
result, error = call('swapon', b'/tc-nowhere', 0)
if error not in KEPT_OUT: found(True, 'swapon: ' + error)
judge('reboot', call('reboot', 1, 1, 0, 0)) # The magic numbers are wrong: nothing can happen.
`,
    ),
};
