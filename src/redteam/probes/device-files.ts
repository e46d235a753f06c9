/** Devices beyond the few that every program needs. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { type InsideProbe, plainContainer } from '../probe.ts';
import { pythonProbe } from '../python.ts';

export const deviceFiles: InsideProbe = {
  kind: 'inside',
  id: 'device-files',
  topic: 'kernel',
  tries: 'to make any device file, or to find one that leads to hardware',
  why: 'making one needs CAP_MKNOD, and the engine gives only null, zero, full, random, urandom, tty and terminals',
  expected: { runc: EVERY_TIER },
  control: plainContainer,
  attempt: (kit) =>
    pythonProbe(
      kit,
      `
import stat
for directory in ('/dev', '/tmp', '/workspace/group', '/workspace/ipc/messages'):
  path = directory + '/tc-null'
  try: os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 3))
  except OSError: continue
  os.unlink(path)
  found(True, 'made ' + path)
KNOWN = ('null', 'zero', 'full', 'random', 'urandom', 'tty', 'console', 'ptmx')
extra = [name for name in os.listdir('/dev') if name not in KNOWN and stat.S_IFMT(os.lstat('/dev/' + name).st_mode) in (stat.S_IFCHR, stat.S_IFBLK)]
found(len(extra) > 0, 'others: ' + (', '.join(extra) or 'none'))
`,
    ),
};
