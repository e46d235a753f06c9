/** A provider that sends back what it was sent, or is made to. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { ECHO_AGENT, modelRequest, postTo, statusOf } from '../model-request.ts';
import { naiveGateway } from '../naive-gateway.ts';
import { held, type InsideProbe, type Kit, type Outcome, reached } from '../probe.ts';

const attempt = async (kit: Kit): Promise<Outcome> => {
  const headers = [`user-agent: ${ECHO_AGENT}`];
  const answer = await kit.exchange(postTo({ target: '/model/witness/v1/messages', headers, body: modelRequest() }));
  return kit.canariesIn(answer).includes('model-key')
    ? reached('the answer holds the key')
    : held(`answered with ${statusOf(answer)}`);
};

export const gatewayKeyEcho: InsideProbe = {
  kind: 'inside',
  id: 'gateway-key-echo',
  topic: 'gateway',
  tries: 'to read the key in an answer that repeats the request’s headers',
  why: 'keys are taken out of every answer, wherever they stand in it',
  expected: { runc: EVERY_TIER },
  control: naiveGateway(attempt),
  attempt,
};
