/** The machine’s memory as files. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { type InsideProbe, privilegedContainer } from '../probe.ts';
import { pythonProbe } from '../python.ts';

export const kernelMemory: InsideProbe = {
  kind: 'inside',
  id: 'kernel-memory',
  topic: 'kernel',
  tries: 'to read /proc/kcore, or /dev/mem under a name of its own',
  why: 'the one is covered, making the other needs CAP_MKNOD',
  expected: { runc: EVERY_TIER },
  control: privilegedContainer,
  attempt: (kit) =>
    pythonProbe(
      kit,
      `
import stat
for directory in ('/dev', '/workspace/group'):
  try: os.mknod(directory + '/tc-mem', stat.S_IFCHR | 0o600, os.makedev(1, 1))
  except OSError: pass

open_files([
  '/proc/kcore',
  '/dev/tc-mem',
  '/workspace/group/tc-mem',
])
`,
    ),
};
