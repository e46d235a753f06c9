/** Settings of the whole machine. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { type InsideProbe, privilegedContainer } from '../probe.ts';
import { pythonProbe } from '../python.ts';

export const kernelSettings: InsideProbe = {
  kind: 'inside',
  id: 'kernel-settings',
  topic: 'kernel',
  tries: 'to open settings of the kernel for writing, below /proc/sys, /proc/irq and /sys',
  why: 'they are read-only and belong to root',
  expected: { runc: EVERY_TIER },
  control: privilegedContainer,
  attempt: (kit) =>
    pythonProbe(
      kit,
      `
open_files([
  '/proc/sys/vm/*',
  '/proc/sys/kernel/*',
  '/proc/irq/*/smp_affinity',
  '/sys/kernel/mm/*',
  '/sys/module/*/parameters/*',
], write=True)
`,
    ),
};
