/** Paths that mean another path to whoever resolves them. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { modelRequest, postTo, statusOf } from '../model-request.ts';
import { naiveGateway } from '../naive-gateway.ts';
import { held, type InsideProbe, type Kit, type Outcome, reached, WITNESS } from '../probe.ts';

const attempt = async (kit: Kit): Promise<Outcome> => {
  const paths = [
    '/v1/messages/../models',
    '/v1/messages/%2e%2e/models',
    '/v1/messages/..%2fmodels',
    '/v1/./models',
    '/v1//models',
    '/v1/messages/.%2e/models',
    '/v1/messages\\..\\models',
    '/../decoy/chat/completions',
    '/v1/messages%00',
    '/v1/messages;/../models',
    '/%76%31/models',
    '/v1/messages#/../models',
  ];
  for (const path of paths) {
    const answer = await kit.exchange(
      postTo({ method: 'POST', target: `/model/witness${path}`, body: modelRequest() }),
    );
    if (answer.includes(WITNESS) || statusOf(answer) === 200) return reached(`${path}: ${statusOf(answer)}`);
  }
  return held(`${paths.length} refused`);
};

export const gatewayDotSegments: InsideProbe = {
  kind: 'inside',
  id: 'gateway-dot-segments',
  topic: 'gateway',
  tries: 'to get from an allowed path to another one by dot segments, encoded or not, doubled slashes and backslashes',
  why: 'paths and methods are compared with a list, never resolved',
  expected: { runc: EVERY_TIER },
  control: naiveGateway(attempt),
  attempt,
};
