/** Many answers at once. */
import { EVERY_TIER, OUTSIDER_TIERS } from '../../domain/tiers.ts';
import { modelRequest, postTo, statusOf } from '../model-request.ts';
import { naiveGateway } from '../naive-gateway.ts';
import { held, type InsideProbe, type Kit, type Outcome, reached } from '../probe.ts';

const attempt = async (kit: Kit): Promise<Outcome> => {
  const request = postTo({
    target: '/model/witness/v1/messages',
    body: modelRequest({ text: 'slow: 2', stream: true }),
  });
  const answers = await Promise.all(Array.from({ length: 30 }, () => kit.exchange(request)));
  const served = answers.filter((answer) => statusOf(answer) === 200).length;
  return served > 20 ? reached(`${served} of 30 at once`) : held(`${served} of 30 at once`);
};

export const gatewayConcurrency: InsideProbe = {
  kind: 'inside',
  id: 'gateway-concurrency',
  topic: 'gateway',
  tries: 'to have more answers streamed at once than the tier’s cap (2 with an untrusted chat, 20 elsewhere)',
  why: 'requests at once are counted per group',
  expected: { runc: EVERY_TIER },
  control: naiveGateway(attempt),
  ownTurn: true,
  attempt,
  after: async (arena, { reply }) => {
    const served = Number(/(\d+) of 30 at once/.exec(reply)?.[1] ?? 0);
    return OUTSIDER_TIERS.includes(arena.tier) && served > 2
      ? reached(`${served} at once, 2 are allowed`)
      : held('within its cap');
  },
};
