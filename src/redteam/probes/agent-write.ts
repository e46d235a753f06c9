/** The agent’s own workspace, which other groups of the same agent read. */
import { OUTSIDER_TIERS } from '../../domain/tiers.ts';
import { type InsideProbe, plainContainer } from '../probe.ts';
import { canWrite } from '../writable.ts';

export const agentWrite: InsideProbe = {
  kind: 'inside',
  id: 'agent-write',
  topic: 'files',
  tries: 'to make something in the agent’s workspace',
  why: 'it is mounted read-only',
  expected: { runc: OUTSIDER_TIERS },
  elsewhere: 'these tiers share the agent’s workspace',
  control: plainContainer,
  attempt: () => canWrite(['/workspace/agent'], { readOnly: true }),
};
