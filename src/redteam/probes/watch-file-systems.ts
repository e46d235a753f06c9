/** fanotify sees, and may stop, every access to a file system. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { type InsideProbe, privilegedContainer } from '../probe.ts';
import { pythonProbe } from '../python.ts';

export const watchFileSystems: InsideProbe = {
  kind: 'inside',
  id: 'watch-file-systems',
  topic: 'kernel',
  tries: 'to make a fanotify group',
  why: 'fanotify_init is not in the filter’s list',
  expected: { runc: EVERY_TIER },
  control: privilegedContainer,
  attempt: (kit) =>
    pythonProbe(
      kit,
      `
judge('fanotify_init', call('fanotify_init', 0, 0))
`,
    ),
};
