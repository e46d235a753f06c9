/** The machine’s name. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { type InsideProbe, privilegedContainer } from '../probe.ts';
import { pythonProbe } from '../python.ts';

export const setHostName: InsideProbe = {
  kind: 'inside',
  id: 'set-host-name',
  topic: 'kernel',
  tries: 'to change the host’s name',
  why: 'sethostname is not in the filter’s list',
  expected: { runc: EVERY_TIER },
  control: privilegedContainer,
  attempt: (kit) =>
    pythonProbe(
      kit,
      `
name = os.uname().nodename.encode()
judge('sethostname', call('sethostname', name, len(name)))
`,
    ),
};
