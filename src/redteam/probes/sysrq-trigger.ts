/** One letter into it reboots the machine. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { type InsideProbe, privilegedContainer } from '../probe.ts';
import { pythonProbe } from '../python.ts';

export const sysrqTrigger: InsideProbe = {
  kind: 'inside',
  id: 'sysrq-trigger',
  topic: 'kernel',
  tries: 'to open /proc/sysrq-trigger for writing',
  why: 'it is read-only and belongs to root',
  expected: { runc: EVERY_TIER },
  control: privilegedContainer,
  attempt: (kit) =>
    pythonProbe(
      kit,
      `
open_files([
  '/proc/sysrq-trigger',
], write=True)
`,
    ),
};
