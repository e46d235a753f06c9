/** Two lengths, two opinions about where a request ends. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { held, type InsideProbe, type Kit, noControl, type Outcome, reached, WITNESS } from '../probe.ts';

export const gatewaySmuggling: InsideProbe = {
  kind: 'inside',
  id: 'gateway-smuggling',
  topic: 'gateway',
  tries: 'to hide a second request in the body of a first one',
  why: 'a request with two lengths, or with an odd encoding of its body, ends the connection',
  expected: { runc: EVERY_TIER },
  control: noControl('Node’s own parser refuses most of these, for a careless proxy as well'),
  attempt: async (kit: Kit): Promise<Outcome> => {
    const hidden = 'GET /model/witness/v1/models HTTP/1.1\r\nhost: x\r\n\r\n';
    const heads = [
      `content-length: ${hidden.length + 5}\r\ntransfer-encoding: chunked`,
      'transfer-encoding: chunked\r\ntransfer-encoding: identity',
      'transfer-encoding: xchunked',
      'content-length: 0\r\ncontent-length: 60',
      'content-length: +5',
    ];
    for (const head of heads) {
      const request = `POST /model/witness/v1/messages HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n${head}\r\n\r\n0\r\n\r\n${hidden}`;
      const answer = await kit.exchange(request, 2_000);
      if (answer.includes(WITNESS)) return reached(`answered, with ${head}`);
    }
    return held(`${heads.length} refused`);
  },
};
