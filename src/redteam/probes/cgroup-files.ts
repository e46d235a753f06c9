/** The files that hold its own limits. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { type InsideProbe, privilegedContainer } from '../probe.ts';
import { pythonProbe } from '../python.ts';

export const cgroupFiles: InsideProbe = {
  kind: 'inside',
  id: 'cgroup-files',
  topic: 'kernel',
  tries: 'to open a file of its control groups for writing',
  why: 'they are mounted read-only and belong to root',
  expected: { runc: EVERY_TIER },
  control: privilegedContainer,
  attempt: (kit) =>
    pythonProbe(
      kit,
      `
open_files([
  '/sys/fs/cgroup/memory.max',
  '/sys/fs/cgroup/pids.max',
  '/sys/fs/cgroup/cgroup.procs',
  '/sys/fs/cgroup/*/memory.limit_in_bytes',
  '/sys/fs/cgroup/*/pids.max',
  '/sys/fs/cgroup/*/cgroup.procs',
  '/sys/fs/cgroup/*/devices.allow',
], write=True)
`,
    ),
};
