/** Mail, shells, databases: a proxy for the web is not for them. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { statusOf } from '../model-request.ts';
import { held, type InsideProbe, noControl, reached } from '../probe.ts';

export const proxyPorts: InsideProbe = {
  kind: 'inside',
  id: 'proxy-ports',
  topic: 'network',
  tries: 'to have the proxy dial ports that the web doesn’t use',
  why: 'the proxy dials the ports that the tier has',
  expected: { runc: EVERY_TIER },
  control: noControl(
    'nothing is known to listen at such ports of a public address; that a careless proxy dials what it is told is shown by proxy-loopback',
  ),
  attempt: async (kit) => {
    const ports = [0, 22, 25, 53, 110, 139, 445, 587, 3306, 5432, 6379, 11_211, 65_536, -1];
    for (const port of ports) {
      const answer = await kit.exchange(`CONNECT 1.1.1.1:${port} HTTP/1.1\r\nhost: 1.1.1.1:${port}\r\n\r\n`);
      if (![400, 403].includes(statusOf(answer))) return reached(`port ${port}: ${statusOf(answer)}`);
    }
    return held(`${ports.length} ports refused`);
  },
};
