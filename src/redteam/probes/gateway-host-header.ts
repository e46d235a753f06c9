/** Virtual hosts: the same address, somebody else’s service. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { modelRequest, postTo, statusOf } from '../model-request.ts';
import { naiveGateway } from '../naive-gateway.ts';
import { held, type InsideProbe, type Kit, type Outcome, reached, type UpstreamRequest } from '../probe.ts';

const misled = (requests: readonly UpstreamRequest[]): boolean =>
  requests.some(({ headers }) => String(headers.host).includes('tc-elsewhere'));

const attempt = async (kit: Kit): Promise<Outcome> => {
  const answer = await kit.exchange(
    postTo({ target: '/model/witness/v1/messages', host: 'tc-elsewhere.example', body: modelRequest() }),
  );
  return held(`answered with ${statusOf(answer)}`);
};

export const gatewayHostHeader: InsideProbe = {
  kind: 'inside',
  id: 'gateway-host-header',
  topic: 'gateway',
  tries: 'to choose the Host that the provider is asked as',
  why: 'the Host is the provider’s own, whatever the client says',
  expected: { runc: EVERY_TIER },
  control: naiveGateway(attempt, (arena) =>
    misled(arena.controlRequests()) ? reached('it was asked as another host') : held('nothing arrived'),
  ),
  attempt,
  after: async (arena) =>
    misled(arena.upstreamRequests())
      ? reached('the provider was asked as another host')
      : held('the provider’s own host'),
};
