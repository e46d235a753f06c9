/** The dearest part of a request is its answer. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { modelRequest, postTo, statusOf } from '../model-request.ts';
import { naiveGateway } from '../naive-gateway.ts';
import { held, type InsideProbe, type Kit, type Outcome, reached } from '../probe.ts';

const attempt = async (kit: Kit): Promise<Outcome> => {
  for (const maxTokens of [80_001, 1_000_000_000]) {
    const answer = await kit.exchange(
      postTo({ target: '/model/witness/v1/messages', body: modelRequest({ maxTokens }) }),
    );
    if (statusOf(answer) === 200) return reached(`${maxTokens} tokens: answered`);
  }
  return held('refused');
};

export const gatewayLongestAnswer: InsideProbe = {
  kind: 'inside',
  id: 'gateway-longest-answer',
  topic: 'gateway',
  tries: 'to ask for an answer longer than the tier’s cap',
  why: 'the body’s max_tokens is compared with the tier’s cap',
  expected: { runc: EVERY_TIER },
  control: naiveGateway(attempt),
  attempt,
};
