/** All probes, in the order of the matrix. */
import type { Probe } from '../probe.ts';
import { ABSENT_PROBES } from './absent.ts';
import { HOST_PROBES } from './host.ts';
import { INSIDE_PROBES } from './inside.ts';

export const PROBES: readonly Probe[] = [...INSIDE_PROBES, ...HOST_PROBES, ...ABSENT_PROBES];
