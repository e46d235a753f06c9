/** The rules and skills that every turn is told. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { type InsideProbe, plainContainer } from '../probe.ts';
import { canWrite } from '../writable.ts';

export const tilesWrite: InsideProbe = {
  kind: 'inside',
  id: 'tiles-write',
  topic: 'files',
  tries: 'to make something among the tiles',
  why: 'they are mounted read-only',
  expected: { runc: EVERY_TIER },
  control: plainContainer,
  attempt: () => canWrite(['/workspace/tiles'], { readOnly: true }),
};
