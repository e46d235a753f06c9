/** The program that the kernel starts as root, on the host, when a process crashes; and its kind. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { type InsideProbe, privilegedContainer } from '../probe.ts';
import { pythonProbe } from '../python.ts';

export const corePattern: InsideProbe = {
  kind: 'inside',
  id: 'core-pattern',
  topic: 'kernel',
  tries: 'to open for writing what makes the kernel start programs: core_pattern, modprobe, hotplug, binfmt_misc',
  why: '/proc/sys is read-only and belongs to root',
  expected: { runc: EVERY_TIER },
  control: privilegedContainer,
  attempt: (kit) =>
    pythonProbe(
      kit,
      `
open_files([
  '/proc/sys/kernel/core_pattern',
  '/proc/sys/kernel/modprobe',
  '/sys/kernel/uevent_helper',
  '/proc/sys/fs/binfmt_misc/register',
], write=True)
`,
    ),
};
