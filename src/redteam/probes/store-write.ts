/** Sidecar files beside the database. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { type InsideProbe, plainContainer } from '../probe.ts';
import { canWrite } from '../writable.ts';

export const storeWrite: InsideProbe = {
  kind: 'inside',
  id: 'store-write',
  topic: 'files',
  tries: 'to make something beside the message database',
  why: 'the turn’s copy lies in a read-only directory of its own',
  expected: { runc: EVERY_TIER },
  control: plainContainer,
  attempt: () => canWrite(['/workspace/store'], { readOnly: true }),
};
