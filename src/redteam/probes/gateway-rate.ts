/** Many requests a minute. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { postTo, statusOf } from '../model-request.ts';
import { naiveGateway } from '../naive-gateway.ts';
import { held, type InsideProbe, type Kit, type Outcome, reached } from '../probe.ts';

const CAP = 300;
const ASKED = 380;
/** Far from the turn’s own end, and less than a minute. */
const MOST_MS = 22_000;

const attempt = async (kit: Kit): Promise<Outcome> => {
  const body = JSON.stringify({ model: 'rehearsal-1', messages: [{ role: 'user', content: 'x' }] });
  const request = postTo({ target: '/model/witness/v1/messages/count_tokens', body });
  const untilMs = performance.now() + MOST_MS;
  let [served, asked] = [0, 0];
  for (; asked < ASKED && performance.now() < untilMs; asked += 2) {
    const answers = await Promise.all([kit.exchange(request), kit.exchange(request)]);
    served += answers.filter((answer) => statusOf(answer) === 200).length;
  }
  if (served > CAP) return reached(`${served} in a minute`);
  if (asked <= CAP) throw new Error(`only ${asked} could be asked in time, too few to show anything`);
  return held(`${served} of ${asked} were served`);
};

export const gatewayRate: InsideProbe = {
  kind: 'inside',
  id: 'gateway-rate',
  topic: 'gateway',
  tries: 'to make more model requests in a minute than the cap (300 in the scratch home)',
  why: 'requests are counted per group, and the count is kept in the database',
  expected: { runc: EVERY_TIER },
  control: naiveGateway(attempt),
  ownTurn: true,
  last: true,
  attempt,
};
