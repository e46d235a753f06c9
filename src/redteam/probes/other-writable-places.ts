/** Any writable place that nobody thought of survives, fills the disk or holds programs. */
import { OUTSIDER_TIERS } from '../../domain/tiers.ts';
import { type InsideProbe, plainContainer } from '../probe.ts';
import { pythonProbe } from '../python.ts';

export const otherWritablePlaces: InsideProbe = {
  kind: 'inside',
  id: 'other-writable-places',
  topic: 'files',
  tries: 'to find a writable place other than /tmp and messages/, on a walk of the whole file system',
  why: 'the root filesystem is read-only, /dev/shm is not there and /dev/mqueue is covered',
  expected: { runc: OUTSIDER_TIERS },
  elsewhere: 'the root filesystem is the turn’s own there and goes with it',
  control: plainContainer,
  attempt: (kit) =>
    pythonProbe(
      kit,
      `
import stat
SKIPPED = ('/proc', '/sys', '/tmp', '/workspace/ipc/messages')
places = []
for directory, names, _ in os.walk('/'):
  names[:] = [name for name in names if os.path.join(directory, name) not in SKIPPED]
  path = os.path.join(directory, '.tc-probe')
  try: os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
  except OSError: continue
  os.unlink(path)
  places.append(directory)
  if len(places) > 5: break
found(len(places) > 0, 'writable: ' + (', '.join(places) or 'nothing else'))
`,
      18000,
    ),
};
