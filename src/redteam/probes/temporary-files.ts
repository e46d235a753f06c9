/** Inodes, spent as empty files. */
import { OUTSIDER_TIERS } from '../../domain/tiers.ts';
import { type InsideProbe, plainContainer } from '../probe.ts';
import { pythonProbe } from '../python.ts';

export const temporaryFiles: InsideProbe = {
  kind: 'inside',
  id: 'temporary-files',
  topic: 'limits',
  tries: 'to make 20 000 files in /tmp',
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
  for at in range(20000): os.close(os.open('/tmp/tc-many/%d' % at, os.O_CREAT | os.O_WRONLY)); made += 1
except OSError as thrown: reason = failure(thrown)
shutil.rmtree('/tmp/tc-many')
found(made >= 20000, '%d files: %s' % (made, reason))
`,
      18000,
    ),
};
