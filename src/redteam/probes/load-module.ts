/** Code in the kernel. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { type InsideProbe, privilegedContainer } from '../probe.ts';
import { pythonProbe } from '../python.ts';

export const loadModule: InsideProbe = {
  kind: 'inside',
  id: 'load-module',
  topic: 'kernel',
  tries: 'to load a kernel module',
  why: 'init_module is not in the filter’s list, and CAP_SYS_MODULE is not there',
  expected: { runc: EVERY_TIER },
  control: privilegedContainer,
  attempt: (kit) =>
    pythonProbe(
      kit,
      `
judge('init_module', call('init_module', 0, 0, b''))
`,
    ),
};
