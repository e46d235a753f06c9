/** Whatever else stands in the operator’s network. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { statusOf } from '../model-request.ts';
import { held, type InsideProbe, noControl, reached } from '../probe.ts';

const ADDRESSES = [
  '10.0.0.1',
  '172.16.0.1',
  '172.31.255.254',
  '192.168.0.1',
  '192.168.1.1',
  '100.64.0.1',
  '198.18.0.1',
  '224.0.0.1',
  '239.255.255.250',
  '240.0.0.1',
  '255.255.255.255',
  '192.0.2.1',
  '198.51.100.1',
  '203.0.113.1',
  '[fc00::1]',
  '[fd12:3456::1]',
  '[fe80::1]',
  '[ff02::1]',
  '[2001:db8::1]',
  '[::ffff:10.0.0.1]',
  '[64:ff9b::a00:1]',
  '[2002:a00:1::1]',
  '[::ffff:0:a00:1]',
];

export const proxyPrivateRanges: InsideProbe = {
  kind: 'inside',
  id: 'proxy-private-ranges',
  topic: 'network',
  tries: 'to reach private, shared, link-local, multicast and reserved addresses through the proxy',
  why: 'the proxy resolves, judges the address, and dials the address that it judged',
  expected: { runc: EVERY_TIER },
  control: noControl(
    'nothing is known to listen at such addresses of a foreign network; that a careless proxy dials what it is told is shown by proxy-loopback',
  ),
  attempt: async (kit) => {
    for (const host of ADDRESSES) {
      const answer = await kit.exchange(`CONNECT ${host}:443 HTTP/1.1\r\nhost: ${host}:443\r\n\r\n`);
      if (![400, 403].includes(statusOf(answer))) return reached(`${host}: ${statusOf(answer)}`);
    }
    return held(`${ADDRESSES.length} addresses refused`);
  },
};
