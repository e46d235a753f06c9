/** Another agent’s files. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { findCanaries } from '../find-canaries.ts';
import { type InsideProbe, plainContainer } from '../probe.ts';

export const otherAgentFiles: InsideProbe = {
  kind: 'inside',
  id: 'other-agent-files',
  topic: 'files',
  tries: 'to read a file of another agent’s workspace',
  why: 'a sibling’s workspace is mounted by a grant alone',
  expected: { runc: EVERY_TIER },
  control: plainContainer,
  attempt: (kit) => findCanaries(kit, ['/workspace'], ['victim-agent']),
};
