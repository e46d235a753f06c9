/** Many requests a minute. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { postTo, statusOf } from '../model-request.ts';
import { naiveGateway } from '../naive-gateway.ts';
import { held, type InsideProbe, type Kit, type Outcome, reached } from '../probe.ts';

const attempt = async (kit: Kit): Promise<Outcome> => {
  const request = postTo({
    target: '/model/witness/v1/messages/count_tokens',
    body: JSON.stringify({ model: 'rehearsal-1', messages: [{ role: 'user', content: 'x' }] }),
  });
  let served = 0;
  for (let round = 0; round < 100; round += 1) {
    const answers = await Promise.all(Array.from({ length: 8 }, () => kit.exchange(request)));
    served += answers.filter((answer) => statusOf(answer) === 200).length;
    if (answers.some((answer) => statusOf(answer) === 429 && round > 70)) break;
  }
  return served > 605 ? reached(`${served} in a minute`) : held(`${served} of 800 were served`);
};

export const gatewayRate: InsideProbe = {
  kind: 'inside',
  id: 'gateway-rate',
  topic: 'gateway',
  tries: 'to make more model requests in a minute than the cap (600 in the scratch home)',
  why: 'requests are counted per group, and the count is kept in the database',
  expected: { runc: EVERY_TIER },
  control: naiveGateway(attempt),
  ownTurn: true,
  last: true,
  attempt,
};
