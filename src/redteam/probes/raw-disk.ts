/** The machine’s disks under everything. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { type InsideProbe, privilegedContainer } from '../probe.ts';
import { pythonProbe } from '../python.ts';

export const rawDisk: InsideProbe = {
  kind: 'inside',
  id: 'raw-disk',
  topic: 'kernel',
  tries: 'to make a device file of a disk and open it',
  why: 'making one needs CAP_MKNOD, and the engine lets no container open a block device',
  expected: { runc: EVERY_TIER },
  control: privilegedContainer,
  attempt: (kit) =>
    pythonProbe(
      kit,
      `
import stat
rows = [line.split() for line in open('/proc/partitions').read().splitlines()[2:]]
disks = [(int(major), int(minor), name) for major, minor, _, name in rows]
if not disks: missing('the kernel shows no disks')
reasons, unreadable = set(), set()
for major, minor, name in disks[:8]:
  for directory in ('/dev', '/tmp', '/workspace/group', '/workspace/ipc/messages'):
    path = '%s/tc-disk-%d' % (directory, minor)
    try: os.mknod(path, stat.S_IFBLK | 0o600, os.makedev(major, minor))
    except OSError as thrown:
      reasons.add(failure(thrown))
      continue
    try: os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
    except OSError as thrown: unreadable.add(failure(thrown))
    else: found(True, 'opened %s as %s' % (name, path))
    finally: os.unlink(path)
if unreadable: missing('a device file of a disk could be made, but this machine lets nobody open it: ' + ', '.join(unreadable))
found(False, '%d disks: %s' % (len(disks), ', '.join(sorted(reasons))))
`,
    ),
};
