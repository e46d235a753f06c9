/** Inodes, spent as empty files. */
import { OUTSIDER_TIERS } from '../../domain/tiers.ts';
import { type InsideProbe, plainContainer } from '../probe.ts';
import { pythonProbe } from '../python.ts';

export const temporaryFiles: InsideProbe = {
  kind: 'inside',
  id: 'temporary-files',
  topic: 'limits',
  tries: 'to make 16 500 files in /tmp',
  why: '/tmp has 16 384 inodes',
  expected: { runc: OUTSIDER_TIERS },
  elsewhere: '/tmp is part of the turn’s own root filesystem there',
  control: plainContainer,
  attempt: (kit) =>
    pythonProbe(
      kit,
      `
import shutil
os.mkdir('/tmp/tc-many')
made, reason = 0, 'all of them'
try:
  for at in range(16500): os.mknod('/tmp/tc-many/%d' % at, 0o100600); made += 1
except OSError as thrown: reason = failure(thrown)
shutil.rmtree('/tmp/tc-many')
found(made >= 16500, '%d files: %s' % (made, reason))
`,
      18000,
    ),
};
