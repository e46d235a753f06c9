/** Frames of one’s own: forged addresses, and everybody’s traffic. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { type InsideProbe, plainContainer } from '../probe.ts';
import { pythonProbe } from '../python.ts';

export const networkPackets: InsideProbe = {
  kind: 'inside',
  id: 'network-packets',
  topic: 'network',
  tries: 'to open a packet socket',
  why: 'the filter lets UNIX, INET, INET6 and NETLINK through, and CAP_NET_RAW is not there',
  expected: { runc: EVERY_TIER },
  control: plainContainer,
  attempt: (kit) =>
    pythonProbe(
      kit,
      `
import socket
try: socket.socket(17, socket.SOCK_RAW, socket.htons(3))
except OSError as thrown: judge('AF_PACKET', (-1, failure(thrown)))
found(True, 'AF_PACKET: made')
`,
    ),
};
