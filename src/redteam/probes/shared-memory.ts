/** Memory that no tmpfs limit counts. */
import { OUTSIDER_TIERS } from '../../domain/tiers.ts';
import { type InsideProbe, plainContainer } from '../probe.ts';
import { canWrite } from '../writable.ts';

export const sharedMemory: InsideProbe = {
  kind: 'inside',
  id: 'shared-memory',
  topic: 'limits',
  tries: 'to make a file in /dev/shm',
  why: 'the IPC namespace is none: there is no /dev/shm',
  expected: { runc: OUTSIDER_TIERS },
  elsewhere: '/dev/shm is the turn’s own there, and counts towards its memory',
  control: plainContainer,
  attempt: () => canWrite(['/dev/shm']),
};
