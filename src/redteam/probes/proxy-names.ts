/** A name is whatever somebody’s name server says. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { naiveGateway } from '../naive-gateway.ts';
import type { InsideProbe, Kit, Outcome } from '../probe.ts';
import { proxied } from '../proxied.ts';

const attempt = (kit: Kit): Promise<Outcome> => {
  const { loopbackPort } = kit.targets;
  return proxied(
    kit,
    ['localhost', 'localhost.', 'localhost.localdomain', 'ip6-localhost', 'ip6-loopback', 'foo.localhost'].map(
      (host) => ({ host, port: loopbackPort }),
    ),
  );
};

export const proxyNames: InsideProbe = {
  kind: 'inside',
  id: 'proxy-names',
  topic: 'network',
  tries: 'to reach loopback through the proxy by names that lead there',
  why: 'the proxy resolves, judges the address, and dials the address that it judged',
  expected: { runc: EVERY_TIER },
  control: naiveGateway(attempt),
  attempt,
};
