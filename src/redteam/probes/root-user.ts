/** Who it runs as. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { type InsideProbe, plainContainer } from '../probe.ts';
import { pythonProbe } from '../python.ts';

export const rootUser: InsideProbe = {
  kind: 'inside',
  id: 'root-user',
  topic: 'privileges',
  tries: 'to run as root, in root’s group, or to become root',
  why: 'containers run as a uid of their own, without supplementary groups and without the capabilities to change that',
  expected: { runc: EVERY_TIER },
  control: plainContainer,
  attempt: (kit) =>
    pythonProbe(
      kit,
      `
groups = set(os.getgroups()) | {os.getgid(), os.getegid()}
if 0 in (os.getuid(), os.geteuid()) or 0 in groups: found(True, 'uid %d, groups %s' % (os.geteuid(), sorted(groups)))
for change in (lambda: os.setuid(0), lambda: os.setgid(0), lambda: os.setgroups([0]), lambda: os.setresuid(0, 0, 0)):
  try:
    change()
    found(True, 'became uid %d' % os.geteuid())
  except PermissionError: pass
found(False, 'uid %d, and no way to 0' % os.getuid())
`,
    ),
};
