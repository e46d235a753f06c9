/** Namespaces of mounts, networks, processes, hosts’ names and IPC. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { type InsideProbe, privilegedContainer } from '../probe.ts';
import { pythonProbe } from '../python.ts';

export const otherNamespaces: InsideProbe = {
  kind: 'inside',
  id: 'other-namespaces',
  topic: 'kernel',
  tries: 'to make any other namespace',
  why: 'the filter of system calls knows no flag of a new namespace',
  expected: { runc: EVERY_TIER },
  control: privilegedContainer,
  attempt: (kit) =>
    pythonProbe(
      kit,
      `
FLAGS = dict(mounts=0x20000, cgroups=0x2000000, names=0x4000000, ipc=0x8000000, processes=0x20000000, network=0x40000000)
for name, flag in FLAGS.items():
  result, error = call('unshare', flag)
  if error not in KEPT_OUT: found(True, name + ': ' + (error or 'done'))
found(False, '%d kinds, all refused' % len(FLAGS))
`,
    ),
};
