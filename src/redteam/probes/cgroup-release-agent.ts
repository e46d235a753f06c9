/** A program that the kernel starts as root, on the host, when a group empties. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { type InsideProbe, privilegedContainer } from '../probe.ts';
import { pythonProbe } from '../python.ts';

export const cgroupReleaseAgent: InsideProbe = {
  kind: 'inside',
  id: 'cgroup-release-agent',
  topic: 'kernel',
  tries: 'to open release_agent or notify_on_release for writing',
  why: 'control groups are mounted read-only, and no new mount of them can be made',
  expected: { runc: EVERY_TIER },
  control: privilegedContainer,
  attempt: (kit) =>
    pythonProbe(
      kit,
      `
open_files([
  '/sys/fs/cgroup/*/release_agent',
  '/sys/fs/cgroup/*/notify_on_release',
], write=True)
`,
    ),
};
