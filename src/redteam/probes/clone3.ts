/** clone3 keeps its flags where no filter can see them. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { type InsideProbe, privilegedContainer } from '../probe.ts';
import { pythonProbe } from '../python.ts';

export const clone3: InsideProbe = {
  kind: 'inside',
  id: 'clone3',
  topic: 'kernel',
  tries: 'to make a user namespace with clone3',
  why: 'clone3 is answered as if the kernel didn’t have it',
  expected: { runc: EVERY_TIER },
  control: privilegedContainer,
  attempt: (kit) =>
    pythonProbe(
      kit,
      `
import struct
arguments = ctypes.create_string_buffer(struct.pack('<11Q', 0x10000000, 0, 0, 0, 17, 0, 0, 0, 0, 0, 0))
result, error = call('clone3', ctypes.addressof(arguments), 88)
if result == 0: os._exit(0)
judge('clone3', (result, error))
`,
    ),
};
