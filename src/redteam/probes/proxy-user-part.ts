/** Two parsers, two opinions about where a URL leads. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { naiveGateway } from '../naive-gateway.ts';
import type { InsideProbe, Kit, Outcome } from '../probe.ts';
import { proxied } from '../proxied.ts';

const attempt = (kit: Kit): Promise<Outcome> => {
  const { loopbackPort } = kit.targets;
  return proxied(
    kit,
    [
      'example.org@127.0.0.1',
      '127.0.0.1#@example.org',
      'example.org:80@127.0.0.1',
      '127.0.0.1\\@example.org',
      'example.org%20@127.0.0.1',
      '127.0.0.1%00.example.org',
      '127.0.0.1%09',
    ].map((host) => ({ host, port: loopbackPort })),
  );
};

export const proxyUserPart: InsideProbe = {
  kind: 'inside',
  id: 'proxy-user-part',
  topic: 'network',
  tries: 'to reach loopback through the proxy by URLs with user parts, fragments and backslashes',
  why: 'the proxy resolves, judges the address, and dials the address that it judged',
  expected: { runc: EVERY_TIER },
  control: naiveGateway(attempt),
  attempt,
};
