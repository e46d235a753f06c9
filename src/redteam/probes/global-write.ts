/** The instructions that all groups share. */
import { GUEST_TIERS } from '../../domain/tiers.ts';
import { type InsideProbe, plainContainer } from '../probe.ts';
import { canWrite } from '../writable.ts';

export const globalWrite: InsideProbe = {
  kind: 'inside',
  id: 'global-write',
  topic: 'files',
  tries: 'to make something in /workspace/global',
  why: 'it is mounted read-only',
  expected: { runc: GUEST_TIERS },
  elsewhere: 'the main chat keeps the shared instructions',
  control: plainContainer,
  attempt: () => canWrite(['/workspace/global'], { readOnly: true }),
};
