/** A request line may name a host of its own, and a key must never go there. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { modelRequest, postTo } from '../model-request.ts';
import { naiveGateway } from '../naive-gateway.ts';
import { held, type InsideProbe, type Kit, type Outcome, reached, WITNESS } from '../probe.ts';

const attempt = async (kit: Kit): Promise<Outcome> => {
  const { hostAddress, hostPort, loopbackPort } = kit.targets;
  const places = [`${hostAddress}:${hostPort}`, `127.0.0.1:${loopbackPort}`];
  const targets = places.flatMap((place) => [
    `http://${place}/v1/messages`,
    `//${place}/v1/messages`,
    `HTTP://${place}/model/witness/v1/messages`,
  ]);
  for (const target of targets) {
    const answer = await kit.exchange(postTo({ target, body: modelRequest() }));
    if (answer.includes(WITNESS)) return reached(`${target}: answered`);
  }
  return held(`${targets.length} refused`);
};

export const gatewayAbsoluteTarget: InsideProbe = {
  kind: 'inside',
  id: 'gateway-absolute-target',
  topic: 'gateway',
  tries: 'to have a request with the key sent to another host, by an absolute or a //host target',
  why: 'a target of that form goes to the egress proxy, which adds no key and judges the address',
  expected: { runc: EVERY_TIER },
  control: naiveGateway(attempt),
  attempt,
};
