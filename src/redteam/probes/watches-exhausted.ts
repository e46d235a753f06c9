/** inotify instances are counted per user, over the whole machine. */
import { watch } from 'node:fs';
import { EVERY_TIER } from '../../domain/tiers.ts';
import { held, type InsideProbe, noControl, reached } from '../probe.ts';
import { pythonProbe } from '../python.ts';

export const watchesExhausted: InsideProbe = {
  kind: 'inside',
  id: 'watches-exhausted',
  topic: 'limits',
  tries: 'to use up inotify instances and watches, so that the supervisor can no longer watch its own files',
  why: 'containers run as a uid of their own, not as the supervisor’s',
  expected: { runc: EVERY_TIER },
  control: noControl('who is harmed is the user of the same uid; a control would have to harm the operator’s own'),
  ownTurn: true,
  attempt: (kit) =>
    pythonProbe(
      kit,
      `
libc.inotify_init1.restype = ctypes.c_int
made = 0
while made < 3000 and libc.inotify_init1(0) >= 0: made += 1
found(False, 'took %d instances' % made)
`,
    ),
  after: async (arena) => {
    try {
      watch(arena.home.data).close();
      return held('the host still watches');
    } catch (thrown) {
      return reached(`the host can’t watch any more: ${String(thrown)}`);
    }
  },
};
