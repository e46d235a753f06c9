/** The filter of system calls. */
import { readFile } from 'node:fs/promises';
import { EVERY_TIER } from '../../domain/tiers.ts';
import { held, type InsideProbe, privilegedContainer, reached } from '../probe.ts';

export const seccompFilter: InsideProbe = {
  kind: 'inside',
  id: 'seccomp-filter',
  topic: 'privileges',
  tries: 'to run without a filter of system calls',
  why: 'a profile of our own is passed with every container',
  expected: { runc: EVERY_TIER },
  control: privilegedContainer,
  attempt: async () => {
    const status = await readFile('/proc/self/status', 'utf8');
    const mode = /^Seccomp:\s*(\d)$/m.exec(status)?.[1];
    return mode === '2' ? held('Seccomp: 2, a filter') : reached(`Seccomp: ${mode}`);
  },
};
