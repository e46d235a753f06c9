/** Mounting: over the instructions, over /proc, or a disk. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { type InsideProbe, privilegedContainer } from '../probe.ts';
import { pythonProbe } from '../python.ts';

export const mount: InsideProbe = {
  kind: 'inside',
  id: 'mount',
  topic: 'kernel',
  tries: 'to mount a file system',
  why: 'mount and its successors are not in the filter’s list, and CAP_SYS_ADMIN is not there',
  expected: { runc: EVERY_TIER },
  control: privilegedContainer,
  attempt: (kit) =>
    pythonProbe(
      kit,
      `
for name, arguments in dict(fsopen=(b'tmpfs', 0), open_tree=(-100, b'/', 1)).items():
  result, error = call(name, *arguments)
  if result >= 0: found(True, name + ': done')
where = '/dev'
answer = call('mount', b'tc', where.encode() + b'/mqueue', b'tmpfs', 0, 0)
if answer[0] == 0: call('umount2', where.encode() + b'/mqueue', 2)
judge('mount', answer)
`,
    ),
};
