/** A client’s own key, in the place of the operator’s or beside it. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { modelRequest, postTo, statusOf } from '../model-request.ts';
import { naiveGateway } from '../naive-gateway.ts';
import { held, type InsideProbe, type Kit, type Outcome, reached, type UpstreamRequest } from '../probe.ts';

/** What reached the provider that isn’t the operator’s own. */
const forged = (requests: readonly UpstreamRequest[]): string[] =>
  requests
    .flatMap(({ headers }) => [headers['x-api-key'], headers.authorization, headers['x-forwarded-for'], headers.cookie])
    .map(String)
    .filter((value) => value.includes('tc-forged'));

const attempt = async (kit: Kit): Promise<Outcome> => {
  const headers = [
    'x-api-key: tc-forged',
    'authorization: Bearer tc-forged',
    'x-forwarded-for: tc-forged',
    'cookie: a=tc-forged',
  ];
  const answer = await kit.exchange(postTo({ target: '/model/witness/v1/messages', headers, body: modelRequest() }));
  return held(`answered with ${statusOf(answer)}`);
};

export const gatewayForgedCredentials: InsideProbe = {
  kind: 'inside',
  id: 'gateway-forged-credentials',
  topic: 'gateway',
  tries: 'to have the provider see credentials and addresses that the container made up',
  why: 'headers are let through by a list, and the gateway sets the credentials itself',
  expected: { runc: EVERY_TIER },
  control: naiveGateway(attempt, (arena) =>
    forged(arena.controlRequests()).length > 0 ? reached('the provider saw the forged key') : held('nothing arrived'),
  ),
  attempt,
  after: async (arena) => {
    const seen = forged(arena.upstreamRequests());
    return seen.length > 0 ? reached(`the provider saw ${seen[0]}`) : held('the provider saw none of it');
  },
};
