/** Namespaces of other processes. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { type InsideProbe, privilegedContainer } from '../probe.ts';
import { pythonProbe } from '../python.ts';

export const joinNamespace: InsideProbe = {
  kind: 'inside',
  id: 'join-namespace',
  topic: 'kernel',
  tries: 'to enter a namespace by its file',
  why: 'setns is not in the filter’s list',
  expected: { runc: EVERY_TIER },
  control: privilegedContainer,
  attempt: (kit) =>
    pythonProbe(
      kit,
      `
judge('setns', call('setns', os.open('/proc/1/ns/uts', os.O_RDONLY), 0))
`,
    ),
};
