/** What is read whole is kept in memory. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { statusOf } from '../model-request.ts';
import { naiveGateway } from '../naive-gateway.ts';
import { held, type InsideProbe, type Kit, type Outcome, reached } from '../probe.ts';

const attempt = async (kit: Kit): Promise<Outcome> => {
  const head =
    'POST /model/witness/v1/messages HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\nconnection: close\r\n';
  const answer = await kit.exchange(`${head}content-length: 9999999999\r\n\r\n{"a":"`, 3_000);
  return statusOf(answer) >= 400 ? held(`refused with ${statusOf(answer)}`) : reached(`10 GB were waited for`);
};

export const gatewayLargeBody: InsideProbe = {
  kind: 'inside',
  id: 'gateway-large-body',
  topic: 'gateway',
  tries: 'to send a body beyond the tier’s cap',
  why: 'a body is counted as it comes in and refused at the cap',
  expected: { runc: EVERY_TIER },
  control: naiveGateway(attempt),
  attempt,
};
