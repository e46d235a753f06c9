/** Counters of the kernel and of other processes. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { type InsideProbe, privilegedContainer } from '../probe.ts';
import { pythonProbe } from '../python.ts';

export const performanceEvents: InsideProbe = {
  kind: 'inside',
  id: 'performance-events',
  topic: 'kernel',
  tries: 'to open a performance event',
  why: 'perf_event_open is not in the filter’s list',
  expected: { runc: EVERY_TIER },
  control: privilegedContainer,
  attempt: (kit) =>
    pythonProbe(
      kit,
      `
import struct
attributes = ctypes.create_string_buffer(struct.pack('<IIQ', 1, 112, 0).ljust(112, b'\\0'), 112)
judge('perf_event_open', call('perf_event_open', ctypes.addressof(attributes), 0, -1, -1, 0))
`,
    ),
};
