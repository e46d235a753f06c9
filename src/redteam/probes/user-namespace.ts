/** A namespace of users, in which one is root over one’s own mounts and networks. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { type InsideProbe, privilegedContainer } from '../probe.ts';
import { pythonProbe } from '../python.ts';

export const userNamespace: InsideProbe = {
  kind: 'inside',
  id: 'user-namespace',
  topic: 'kernel',
  tries: 'to make a user namespace with unshare or clone',
  why: 'the filter of system calls knows no flag of a new namespace',
  expected: { runc: EVERY_TIER },
  control: privilegedContainer,
  attempt: (kit) =>
    pythonProbe(
      kit,
      `
CLONE_NEWUSER, SIGCHLD = 0x10000000, 17
pid, error = call('clone', CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0)
if pid == 0: os._exit(0)
if pid > 0: found(True, 'clone: done')
judge('unshare', call('unshare', CLONE_NEWUSER))
`,
    ),
};
