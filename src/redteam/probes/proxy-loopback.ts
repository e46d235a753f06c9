/** The host’s own services think themselves alone. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { naiveGateway } from '../naive-gateway.ts';
import type { InsideProbe, Kit, Outcome } from '../probe.ts';
import { proxied } from '../proxied.ts';

const attempt = (kit: Kit): Promise<Outcome> => {
  const { loopbackPort } = kit.targets;
  return proxied(
    kit,
    [
      '127.0.0.1',
      'localhost',
      '127.1',
      '127.0.1',
      '2130706433',
      '0x7f000001',
      '0x7f.0.0.1',
      '0177.0.0.1',
      '017700000001',
      '0.0.0.0',
      '0',
      '[::1]',
      '[::ffff:127.0.0.1]',
      '[::ffff:7f00:1]',
      '[::]',
      '[0:0:0:0:0:ffff:127.0.0.1]',
      '127.0.0.1.',
      'LOCALHOST',
      '127.0.0.2',
      '127.255.255.254',
      '[::127.0.0.1]',
      '[64:ff9b::7f00:1]',
      '%31%32%37.0.0.1',
      '１２７.0.0.1',
    ].map((host) => ({ host, port: loopbackPort })),
  );
};

export const proxyLoopback: InsideProbe = {
  kind: 'inside',
  id: 'proxy-loopback',
  topic: 'network',
  tries: 'to reach a service on the host’s loopback through the proxy, by every spelling of its address',
  why: 'the proxy resolves, judges the address, and dials the address that it judged',
  expected: { runc: EVERY_TIER },
  control: naiveGateway(attempt),
  attempt,
};
