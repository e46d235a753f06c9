/** What engines cover because it tells of the whole machine. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { type InsideProbe, privilegedContainer } from '../probe.ts';
import { pythonProbe } from '../python.ts';

export const maskedFiles: InsideProbe = {
  kind: 'inside',
  id: 'masked-files',
  topic: 'kernel',
  tries: 'to read the kernel’s keys, timers, scheduler, firmware or its debugging file systems',
  why: 'they are covered, or root’s alone',
  expected: { runc: EVERY_TIER },
  control: privilegedContainer,
  attempt: (kit) =>
    pythonProbe(
      kit,
      `
open_files([
  '/proc/timer_list',
  '/proc/sched_debug',
  '/sys/firmware/acpi/tables/*',
  '/sys/firmware/dmi/tables/DMI',
  '/sys/kernel/debug/*',
  '/sys/kernel/tracing/*',
  '/proc/slabinfo',
  '/proc/kpagecount',
])
`,
    ),
};
