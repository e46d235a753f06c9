/** A root directory of one’s own, the first half of the classic escape. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { type InsideProbe, privilegedContainer } from '../probe.ts';
import { pythonProbe } from '../python.ts';

export const changeRoot: InsideProbe = {
  kind: 'inside',
  id: 'change-root',
  topic: 'kernel',
  tries: 'to use chroot or pivot_root',
  why: 'neither is in the filter’s list',
  expected: { runc: EVERY_TIER },
  control: privilegedContainer,
  attempt: (kit) =>
    pythonProbe(
      kit,
      `
pid = os.fork()
if pid == 0:
  result, error = call('chroot', b'/usr')
  os._exit(1 if error in KEPT_OUT else 0)
if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0: found(True, 'chroot: done')
judge('pivot_root', call('pivot_root', b'/', b'/'))
`,
    ),
};
