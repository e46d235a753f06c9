/** The other protocol, which filters forget. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { type InsideProbe, plainContainer } from '../probe.ts';
import { pythonProbe } from '../python.ts';

export const networkIpv6: InsideProbe = {
  kind: 'inside',
  id: 'network-ipv6',
  topic: 'network',
  tries: 'to connect by IPv6: to the host’s IPv4 address mapped, and to every neighbour’s link-local address',
  why: 'the network namespace is empty: there is nothing but loopback in it',
  expected: { runc: EVERY_TIER },
  control: plainContainer,
  attempt: (kit) =>
    pythonProbe(
      kit,
      `
import socket
reasons = []
for address in ('::ffff:${kit.targets.hostAddress}', 'ff02::1', 'fe80::1'):
  for index in (0, 1, 2, 3):
    try:
      with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as connection:
        connection.settimeout(1)
        connection.connect((address, ${kit.targets.hostPort}, 0, index))
        found(b'tc-witness' in connection.recv(4096), 'connected to ' + address)
    except OSError as thrown: reasons.append(failure(thrown))
found(False, ', '.join(sorted(set(reasons))))
`,
    ),
};
