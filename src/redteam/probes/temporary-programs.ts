/** Downloaded programs have to lie somewhere to be started. */
import { OUTSIDER_TIERS } from '../../domain/tiers.ts';
import { type InsideProbe, plainContainer } from '../probe.ts';
import { pythonProbe } from '../python.ts';

export const temporaryPrograms: InsideProbe = {
  kind: 'inside',
  id: 'temporary-programs',
  topic: 'files',
  tries: 'to start a program from /tmp or messages/, or to find /tmp without nosuid, nodev and noexec',
  why: '/tmp is mounted with all three',
  expected: { runc: OUTSIDER_TIERS },
  elsewhere: '/tmp is part of the turn’s own root filesystem there',
  control: plainContainer,
  attempt: (kit) =>
    pythonProbe(
      kit,
      `
import shutil, subprocess
shutil.copy('/usr/bin/true', '/tmp/tc-true')
try: subprocess.run(['/tmp/tc-true']); ran = True
except OSError as thrown: ran = False
os.unlink('/tmp/tc-true')
flags = [line.split()[5] for line in open('/proc/self/mountinfo') if line.split()[4] == '/tmp']
kept = len(flags) > 0 and all(flag in flags[0].split(',') for flag in ('nosuid', 'nodev', 'noexec'))
found(ran or not kept, 'started: %s; /tmp is mounted %s' % (ran, flags[0] if flags else 'nowhere'))
`,
    ),
};
