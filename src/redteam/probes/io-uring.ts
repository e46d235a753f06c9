/** Opens, reads and connects where no filter sees it. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { type InsideProbe, privilegedContainer } from '../probe.ts';
import { pythonProbe } from '../python.ts';

export const ioUring: InsideProbe = {
  kind: 'inside',
  id: 'io-uring',
  topic: 'kernel',
  tries: 'to make an io_uring ring',
  why: 'io_uring_setup is not in the filter’s list, whatever the engine’s own default allows',
  expected: { runc: EVERY_TIER },
  control: privilegedContainer,
  attempt: (kit) =>
    pythonProbe(
      kit,
      `
parameters = ctypes.create_string_buffer(120)
judge('io_uring_setup', call('io_uring_setup', 4, ctypes.addressof(parameters)))
`,
    ),
};
