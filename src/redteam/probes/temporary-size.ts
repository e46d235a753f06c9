/** Memory, spent as files. */
import { OUTSIDER_TIERS } from '../../domain/tiers.ts';
import { type InsideProbe, plainContainer } from '../probe.ts';
import { pythonProbe } from '../python.ts';

export const temporarySize: InsideProbe = {
  kind: 'inside',
  id: 'temporary-size',
  topic: 'limits',
  tries: 'to write 80 MB into /tmp',
  why: '/tmp is a tmpfs of 64 MB',
  expected: { runc: OUTSIDER_TIERS },
  elsewhere: '/tmp is part of the turn’s own root filesystem there',
  control: plainContainer,
  attempt: (kit) =>
    pythonProbe(
      kit,
      `
written = 0
try:
  for name in ('tc-a', 'tc-b'):
    with open('/tmp/' + name, 'wb', 0) as file:
      for _ in range(40): written += file.write(bytes(1 << 20))
except OSError as thrown: reason = failure(thrown)
else: reason = 'all of it'
for name in ('tc-a', 'tc-b'):
  if os.path.exists('/tmp/' + name): os.unlink('/tmp/' + name)
found(written >= 80 << 20, '%d MB: %s' % (written >> 20, reason))
`,
    ),
};
