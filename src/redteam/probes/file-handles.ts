/** Opening files by number, past every mount and root: the first published escape from Docker. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { type InsideProbe, privilegedContainer } from '../probe.ts';
import { pythonProbe } from '../python.ts';

export const fileHandles: InsideProbe = {
  kind: 'inside',
  id: 'file-handles',
  topic: 'kernel',
  tries: 'to open a file by its handle',
  why: 'open_by_handle_at is not in the filter’s list, and CAP_DAC_READ_SEARCH is not there',
  expected: { runc: EVERY_TIER },
  control: privilegedContainer,
  attempt: (kit) =>
    pythonProbe(
      kit,
      `
import struct
handle = ctypes.create_string_buffer(struct.pack('<Ii', 8, 1) + struct.pack('<II', 2, 0))
judge('open_by_handle_at', call('open_by_handle_at', os.open('/etc/hosts', os.O_RDONLY), ctypes.addressof(handle), 0))
`,
    ),
};
