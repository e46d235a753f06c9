/** The host by the address that its containers know. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { naiveGateway } from '../naive-gateway.ts';
import type { InsideProbe, Kit, Outcome } from '../probe.ts';
import { proxied } from '../proxied.ts';

const attempt = (kit: Kit): Promise<Outcome> => {
  const { hostAddress, hostPort } = kit.targets;
  return proxied(
    kit,
    [hostAddress, `[::ffff:${hostAddress}]`].map((host) => ({ host, port: hostPort })),
  );
};

export const proxyHost: InsideProbe = {
  kind: 'inside',
  id: 'proxy-host',
  topic: 'network',
  tries: 'to reach a service of the host through the proxy, at the gateway address of its bridge',
  why: 'the proxy resolves, judges the address, and dials the address that it judged',
  expected: { runc: EVERY_TIER },
  control: naiveGateway(attempt),
  attempt,
};
