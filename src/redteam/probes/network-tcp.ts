/** The plainest way out. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { type InsideProbe, plainContainer } from '../probe.ts';
import { pythonProbe } from '../python.ts';

export const networkTcp: InsideProbe = {
  kind: 'inside',
  id: 'network-tcp',
  topic: 'network',
  tries: 'to connect by TCP to a service of the host, past the proxy',
  why: 'the network namespace is empty: there is nothing but loopback in it',
  expected: { runc: EVERY_TIER },
  control: plainContainer,
  attempt: (kit) =>
    pythonProbe(
      kit,
      `
import socket
try:
  with socket.create_connection(('${kit.targets.hostAddress}', ${kit.targets.hostPort}), 3) as connection:
    found(b'tc-witness' in connection.recv(4096), 'connected')
except OSError as thrown: found(False, failure(thrown))
`,
    ),
};
