/** A key opens more than the model: files, usage, organisations. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { modelRequest, postTo, statusOf } from '../model-request.ts';
import { naiveGateway } from '../naive-gateway.ts';
import { held, type InsideProbe, type Kit, type Outcome, reached, WITNESS } from '../probe.ts';

const attempt = async (kit: Kit): Promise<Outcome> => {
  const requests = [
    ['GET', '/v1/models'],
    ['GET', '/v1/messages'],
    ['DELETE', '/v1/messages'],
    ['PUT', '/v1/messages'],
    ['POST', '/v1/files'],
    ['POST', '/v1/messages/batches'],
    ['GET', '/v1/organizations/me'],
    ['POST', '/v1/complete'],
    ['POST', '/v1/messages?beta=false&x=1'],
    ['TRACE', '/v1/messages'],
    ['PATCH', '/v1/messages'],
  ] as const;
  for (const [method, path] of requests) {
    const answer = await kit.exchange(postTo({ method, target: `/model/witness${path}`, body: modelRequest() }));
    if (answer.includes(WITNESS) || statusOf(answer) === 200) return reached(`${method} ${path}: ${statusOf(answer)}`);
  }
  return held(`${requests.length} refused`);
};

export const gatewayOtherEndpoint: InsideProbe = {
  kind: 'inside',
  id: 'gateway-other-endpoint',
  topic: 'gateway',
  tries: 'to reach another endpoint of the provider, or a known one by another method',
  why: 'paths and methods are compared with a list, never resolved',
  expected: { runc: EVERY_TIER },
  control: naiveGateway(attempt),
  attempt,
};
