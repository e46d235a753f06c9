/** Lets a program stop the kernel in the middle of a copy: races become winnable. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { type InsideProbe, privilegedContainer } from '../probe.ts';
import { pythonProbe } from '../python.ts';

export const userfaultfd: InsideProbe = {
  kind: 'inside',
  id: 'userfaultfd',
  topic: 'kernel',
  tries: 'to make a userfaultfd',
  why: 'userfaultfd is not in the filter’s list',
  expected: { runc: EVERY_TIER },
  control: privilegedContainer,
  attempt: (kit) =>
    pythonProbe(
      kit,
      `
judge('userfaultfd', call('userfaultfd', 0))
`,
    ),
};
