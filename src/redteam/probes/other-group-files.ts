/** Another chat’s files. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { findCanaries } from '../find-canaries.ts';
import { type InsideProbe, plainContainer } from '../probe.ts';

export const otherGroupFiles: InsideProbe = {
  kind: 'inside',
  id: 'other-group-files',
  topic: 'files',
  tries: 'to read a file of another group’s folder',
  why: 'no plan mounts another group’s folder',
  expected: { runc: EVERY_TIER },
  control: plainContainer,
  attempt: (kit) => findCanaries(kit, ['/workspace'], ['victim-folder']),
};
