/** The group’s own folder is on the host’s disk. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { INSIDER_TIERS } from '../../domain/tiers.ts';
import { groupDirectory } from '../../home.ts';
import { held, type InsideProbe, noControl, reached } from '../probe.ts';
import { pythonProbe } from '../python.ts';

export const fillFolder: InsideProbe = {
  kind: 'inside',
  id: 'fill-folder',
  topic: 'limits',
  tries: 'to fill the host’s disk through the group’s folder: large files, many files, a hidden directory',
  why: 'what lies there is measured all the time, and beyond its quota the turn ends (disk)',
  expected: { runc: INSIDER_TIERS },
  elsewhere: 'the folder is read-only there; what it can write is filled by host-fill-inbox',
  control: noControl('a disk without a quota fills up, and nobody wants to see it'),
  ownTurn: true,
  attempt: (kit) =>
    pythonProbe(
      kit,
      `
import time
os.makedirs('/workspace/group/.tc-fill/deep', exist_ok=True)
for at in range(50):
  with open('/workspace/group/.tc-fill/deep/%d' % at, 'wb', 0) as file: file.write(os.urandom(8 << 20))
time.sleep(30)
found(True, 'wrote 400 MB, and nothing happened')
`,
      40000,
    ),
  after: async (arena, { reason }) => {
    const folder = join(groupDirectory(arena.home, arena.attacker.folder), '.tc-fill');
    await rm(folder, { recursive: true, force: true, maxRetries: 50, retryDelay: 200 }); // Its end is told before it is gone.
    return reason === 'disk' ? held('the turn ended: disk') : reached(`the turn ended: ${reason}`);
  },
};
