/** Many requests a minute. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { postTo } from '../model-request.ts';
import { naiveGateway } from '../naive-gateway.ts';
import {
  type Arena,
  type Finding,
  held,
  type InsideProbe,
  type Kit,
  type Outcome,
  reached,
  type UpstreamRequest,
} from '../probe.ts';

const CAP = 300;
const ASKED = 380;
/** Far from the turn’s own end, and less than a minute. */
const MOST_MS = 22_000;

const agentOf = (folder: string): string => `tc-rate-${folder}`;

const flood = async (kit: Kit): Promise<Outcome> => {
  const body = JSON.stringify({ model: 'rehearsal-1', messages: [{ role: 'user', content: 'x' }] });
  const headers = [`user-agent: ${agentOf(kit.targets.ownFolder)}`];
  const request = postTo({ target: '/model/witness/v1/messages/count_tokens', headers, body });
  const untilMs = performance.now() + MOST_MS;
  for (let asked = 0; asked < ASKED && performance.now() < untilMs; asked += 2) {
    await Promise.all([kit.exchange(request), kit.exchange(request)]);
  }
  return held('asked');
};

/** The turn has no request left for itself and would wait for the next minute. */
const END_RUNNER = `for at in /proc/[0-9]*; do
  tr '\\0' ' ' <"$at/cmdline" | grep -q '^node /opt/tierclaw/runner.mjs' && kill -9 "\${at#/proc/}"
done`;

const judge = (requests: readonly UpstreamRequest[], { targets }: Arena, outcome: Outcome): Finding => {
  const agent = agentOf(targets.ownFolder);
  const served = requests.filter(({ headers }) => headers['user-agent'] === agent).length;
  if (served > CAP) return reached(`${served} in a minute`);
  // Those of the turn itself, and of the turns before it, are of the same minute.
  if (served < CAP / 2) throw new Error(`only ${served} were asked in time: ${JSON.stringify(outcome)}`);
  return held(`${served} of ${ASKED} were served`);
};

export const gatewayRate: InsideProbe = {
  kind: 'inside',
  id: 'gateway-rate',
  topic: 'gateway',
  tries: 'to make more model requests in a minute than the cap (300 in the scratch home)',
  why: 'requests are counted per group, and the count is kept in the database',
  expected: { runc: EVERY_TIER },
  control: naiveGateway(flood, (arena, outcome) => judge(arena.controlRequests(), arena, outcome)),
  ownTurn: true,
  last: true,
  attempt: async (kit) => {
    const outcome = await flood(kit);
    await kit.bash(END_RUNNER);
    return outcome;
  },
  after: async (arena, { reason, detail }) =>
    judge(arena.upstreamRequests(), arena, held(`the turn ended: ${reason}, ${detail}`)),
};
