/** Each provider has a key of the operator’s. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { modelRequest, postTo, statusOf } from '../model-request.ts';
import { naiveGateway } from '../naive-gateway.ts';
import { held, type InsideProbe, type Kit, type Outcome, reached } from '../probe.ts';

const attempt = async (kit: Kit): Promise<Outcome> => {
  const targets = [
    '/model/decoy/chat/completions',
    '/model/decoy/v1/messages',
    '/model/Witness/v1/messages',
    '/model//v1/messages',
  ];
  for (const target of targets) {
    const answer = await kit.exchange(postTo({ target, body: modelRequest() }));
    if (statusOf(answer) < 300 && statusOf(answer) > 0) return reached(`${target}: ${statusOf(answer)}`);
  }
  return held('all refused');
};

export const gatewayOtherProvider: InsideProbe = {
  kind: 'inside',
  id: 'gateway-other-provider',
  topic: 'gateway',
  tries: 'to use another provider’s key',
  why: 'a turn may use the one provider of its plan',
  expected: { runc: EVERY_TIER },
  control: naiveGateway(attempt),
  attempt,
};
