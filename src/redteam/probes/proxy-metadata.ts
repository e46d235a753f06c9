/** The clouds’ metadata service hands out the machine’s own credentials. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { statusOf } from '../model-request.ts';
import { held, type InsideProbe, noControl, reached } from '../probe.ts';

const SERVICES = [
  '169.254.169.254',
  '[::ffff:169.254.169.254]',
  '[fd00:ec2::254]',
  '100.100.100.200',
  '2852039166',
  '0xa9fea9fe',
  '192.0.0.192',
  '169.254.170.2',
  'metadata.google.internal',
];

/** Only a refusal of the proxy’s own will do: an attempt to dial is already too much. */
const isRefused = (answer: string): boolean => [400, 403].includes(statusOf(answer));

export const proxyMetadata: InsideProbe = {
  kind: 'inside',
  id: 'proxy-metadata',
  topic: 'network',
  tries: 'to reach a metadata service through the proxy, by address, by name and over IPv6',
  why: 'the proxy resolves, judges the address, and dials the address that it judged; link-local and shared ranges are refused everywhere',
  expected: { runc: EVERY_TIER },
  control: noControl(
    'whether there is such a service depends on where the machine stands; that a careless proxy dials what it is told is shown by proxy-loopback',
  ),
  attempt: async (kit) => {
    for (const host of SERVICES) {
      const [plain, tunnel] = [
        await kit.exchange(
          `GET http://${host}/latest/meta-data/ HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`,
        ),
        await kit.exchange(`CONNECT ${host}:80 HTTP/1.1\r\nhost: ${host}:80\r\n\r\n`),
      ];
      const byName = host.includes('internal') ? [502, 503, 504] : [];
      if (![plain, tunnel].every((answer) => isRefused(answer) || byName.includes(statusOf(answer)))) {
        return reached(`${host}: ${statusOf(plain)}, ${statusOf(tunnel)}`);
      }
    }
    return held(`${SERVICES.length} services refused`);
  },
};
