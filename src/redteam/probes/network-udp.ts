/** Datagrams need no connection. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { type InsideProbe, plainContainer } from '../probe.ts';
import { pythonProbe } from '../python.ts';

export const networkUdp: InsideProbe = {
  kind: 'inside',
  id: 'network-udp',
  topic: 'network',
  tries: 'to exchange datagrams with a service of the host',
  why: 'the network namespace is empty: there is nothing but loopback in it',
  expected: { runc: EVERY_TIER },
  control: plainContainer,
  attempt: (kit) =>
    pythonProbe(
      kit,
      `
import socket
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
  datagrams.settimeout(2)
  try:
    datagrams.sendto(b'hello', ('${kit.targets.hostAddress}', ${kit.targets.hostUdpPort}))
    found(True, 'answered: ' + datagrams.recv(100).decode())
  except OSError as thrown: found(False, failure(thrown))
`,
    ),
};
