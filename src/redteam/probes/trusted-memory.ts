/** What trusted chats remember together. */
import { OUTSIDER_TIERS } from '../../domain/tiers.ts';
import { findCanaries } from '../find-canaries.ts';
import { type InsideProbe, plainContainer } from '../probe.ts';

export const trustedMemory: InsideProbe = {
  kind: 'inside',
  id: 'trusted-memory',
  topic: 'files',
  tries: 'to read the shared memory',
  why: '/workspace/trusted is not mounted',
  expected: { runc: OUTSIDER_TIERS },
  elsewhere: 'the shared memory is for these tiers',
  control: plainContainer,
  attempt: (kit) => findCanaries(kit, ['/workspace'], ['shared-memory']),
};
