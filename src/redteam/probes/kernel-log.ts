/** The kernel’s log shows addresses and other tenants. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { type InsideProbe, privilegedContainer } from '../probe.ts';
import { pythonProbe } from '../python.ts';

export const kernelLog: InsideProbe = {
  kind: 'inside',
  id: 'kernel-log',
  topic: 'kernel',
  tries: 'to read the kernel’s log',
  why: 'syslog is not in the filter’s list; /dev/kmsg isn’t there',
  expected: { runc: EVERY_TIER },
  control: privilegedContainer,
  attempt: (kit) =>
    pythonProbe(
      kit,
      `
try:
  os.read(os.open('/dev/kmsg', os.O_RDONLY | os.O_NONBLOCK), 4096)
  found(True, '/dev/kmsg: read')
except OSError: pass
space = ctypes.create_string_buffer(4096)
judge('syslog', call('syslog', 3, ctypes.addressof(space), 4096))
`,
    ),
};
