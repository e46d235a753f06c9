/** The owner’s identity and key people. */
import { OUTSIDER_TIERS } from '../../domain/tiers.ts';
import { findCanaries } from '../find-canaries.ts';
import { type InsideProbe, plainContainer } from '../probe.ts';

export const ownerPersona: InsideProbe = {
  kind: 'inside',
  id: 'owner-persona',
  topic: 'files',
  tries: 'to read the private SOUL.md',
  why: 'the turn gets a directory with the public persona alone',
  expected: { runc: OUTSIDER_TIERS },
  elsewhere: 'these tiers are told the owner’s persona',
  control: plainContainer,
  attempt: (kit) => findCanaries(kit, ['/workspace'], ['owner-soul']),
};
