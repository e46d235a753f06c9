/** One parser takes the first, another the last. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { modelRequest, postTo, statusOf } from '../model-request.ts';
import { naiveGateway } from '../naive-gateway.ts';
import { held, type InsideProbe, type Kit, type Outcome, reached } from '../probe.ts';

const attempt = async (kit: Kit): Promise<Outcome> => {
  const body = modelRequest();
  const twice = [
    body.replace('{', '{"model":"claude-opus-4-1",'),
    body.replace(/\}$/, ',"max_tokens":99999999}'),
    body.replace('{', '{"mod\\u0065l":"claude-opus-4-1",'),
  ];
  for (const one of twice) {
    const answer = await kit.exchange(postTo({ target: '/model/witness/v1/messages', body: one }));
    if (statusOf(answer) === 200) return reached('answered');
  }
  return held('all refused');
};

export const gatewayDoubledFields: InsideProbe = {
  kind: 'inside',
  id: 'gateway-doubled-fields',
  topic: 'gateway',
  tries: 'to say one thing to the gateway and another to the provider by a field that stands twice',
  why: 'a body in which a field stands twice is refused',
  expected: { runc: EVERY_TIER },
  control: naiveGateway(attempt),
  attempt,
};
