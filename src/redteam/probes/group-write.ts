/** The group’s own folder: what is put there is read in the next turn. */
import { OUTSIDER_TIERS } from '../../domain/tiers.ts';
import { type InsideProbe, plainContainer } from '../probe.ts';
import { canWrite } from '../writable.ts';

export const groupWrite: InsideProbe = {
  kind: 'inside',
  id: 'group-write',
  topic: 'files',
  tries: 'to make something in the group’s folder',
  why: 'it is mounted read-only',
  expected: { runc: OUTSIDER_TIERS },
  elsewhere: 'these tiers keep their own notes there',
  control: plainContainer,
  attempt: () => canWrite(['/workspace/group'], { readOnly: true }),
};
