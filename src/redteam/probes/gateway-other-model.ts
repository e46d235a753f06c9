/** Dearer ones. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { modelRequest, postTo, statusOf } from '../model-request.ts';
import { naiveGateway } from '../naive-gateway.ts';
import { held, type InsideProbe, type Kit, type Outcome, reached } from '../probe.ts';

const attempt = async (kit: Kit): Promise<Outcome> => {
  for (const model of ['claude-opus-4-1', 'rehearsal-2', 'REHEARSAL-1', 'rehearsal-1 ', '../rehearsal-1']) {
    const answer = await kit.exchange(postTo({ target: '/model/witness/v1/messages', body: modelRequest({ model }) }));
    if (statusOf(answer) === 200) return reached(`${model}: answered`);
  }
  return held('all refused');
};

export const gatewayOtherModel: InsideProbe = {
  kind: 'inside',
  id: 'gateway-other-model',
  topic: 'gateway',
  tries: 'to use a model that the operator hasn’t listed',
  why: 'the body’s model is compared with the provider’s list',
  expected: { runc: EVERY_TIER },
  control: naiveGateway(attempt),
  attempt,
};
