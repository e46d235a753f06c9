/** Programs for the kernel. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { type InsideProbe, privilegedContainer } from '../probe.ts';
import { pythonProbe } from '../python.ts';

export const bpf: InsideProbe = {
  kind: 'inside',
  id: 'bpf',
  topic: 'kernel',
  tries: 'to load an eBPF program or make a map',
  why: 'bpf is not in the filter’s list',
  expected: { runc: EVERY_TIER },
  control: privilegedContainer,
  attempt: (kit) =>
    pythonProbe(
      kit,
      `
import struct
attributes = ctypes.create_string_buffer(struct.pack('<IIIII', 2, 4, 4, 1, 0).ljust(72, b'\\0'))
judge('bpf', call('bpf', 0, ctypes.addressof(attributes), 72))
`,
    ),
};
