/** One huge file fills a disk. */
import { OUTSIDER_TIERS } from '../../domain/tiers.ts';
import { type InsideProbe, plainContainer } from '../probe.ts';
import { pythonProbe } from '../python.ts';

export const fileSize: InsideProbe = {
  kind: 'inside',
  id: 'file-size',
  topic: 'limits',
  tries: 'to write a file of more than 64 MB into messages/',
  why: 'the limit on the size of a file (fsize) is 64 MB',
  expected: { runc: OUTSIDER_TIERS },
  elsewhere: 'quotas bound what these tiers write in all',
  control: plainContainer,
  attempt: (kit) =>
    pythonProbe(
      kit,
      `
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
path = '/workspace/ipc/messages/.tc-large'
reason = 'all of it'
try:
  with open(path, 'wb', 0) as file: os.ftruncate(file.fileno(), 65 << 20)
except OSError as thrown: reason = failure(thrown)
size = os.path.getsize(path) if os.path.exists(path) else 0
if os.path.exists(path): os.unlink(path)
found(size > 64 << 20, '%d MB: %s' % (size >> 20, reason))
`,
    ),
};
