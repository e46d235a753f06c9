/** Where the host puts its answers. */
import { OUTSIDER_TIERS } from '../../domain/tiers.ts';
import { type InsideProbe, plainContainer } from '../probe.ts';
import { canWrite } from '../writable.ts';

export const inputWrite: InsideProbe = {
  kind: 'inside',
  id: 'input-write',
  topic: 'files',
  tries: 'to make something in /workspace/ipc/input',
  why: 'it is mounted read-only',
  expected: { runc: OUTSIDER_TIERS },
  elsewhere: 'the whole ipc directory is writable there; what lies in input/ carries no authority',
  control: plainContainer,
  attempt: () => canWrite(['/workspace/ipc/input'], { readOnly: true }),
};
