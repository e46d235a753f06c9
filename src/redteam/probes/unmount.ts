/** What covers a file system can be taken off. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { type InsideProbe, privilegedContainer } from '../probe.ts';
import { pythonProbe } from '../python.ts';

export const unmount: InsideProbe = {
  kind: 'inside',
  id: 'unmount',
  topic: 'kernel',
  tries: 'to unmount what covers parts of /proc, or a read-only mount',
  why: 'umount2 is not in the filter’s list, and CAP_SYS_ADMIN is not there',
  expected: { runc: EVERY_TIER },
  control: privilegedContainer,
  attempt: (kit) =>
    pythonProbe(
      kit,
      `
for path in (b'/proc/kcore', b'/workspace/tiles', b'/dev/mqueue'):
  result, error = call('umount2', path, 2)
  if error not in KEPT_OUT + ('EINVAL', 'ENOENT'): found(True, path.decode() + ': ' + (error or 'done'))
judge('umount2', call('umount2', b'/tc-nowhere', 0))
`,
    ),
};
