/** A read-only mount is a flag, and flags can be changed. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { type InsideProbe, privilegedContainer } from '../probe.ts';
import { pythonProbe } from '../python.ts';

export const remountWritable: InsideProbe = {
  kind: 'inside',
  id: 'remount-writable',
  topic: 'files',
  tries: 'to remount a read-only mount as writable',
  why: 'remounting needs CAP_SYS_ADMIN, and mount is not in the filter’s list',
  expected: { runc: EVERY_TIER },
  control: privilegedContainer,
  attempt: (kit) =>
    pythonProbe(
      kit,
      `
MS_REMOUNT, MS_BIND = 32, 4096
judge('remount', call('mount', 0, b'/workspace/tiles', 0, MS_REMOUNT | MS_BIND, 0))
`,
    ),
};
