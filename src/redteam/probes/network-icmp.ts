/** Pings carry what one puts into them. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { type InsideProbe, plainContainer } from '../probe.ts';
import { pythonProbe } from '../python.ts';

export const networkIcmp: InsideProbe = {
  kind: 'inside',
  id: 'network-icmp',
  topic: 'network',
  tries: 'to ping the host, by a raw or a ping socket',
  why: 'the network namespace is empty: there is nothing but loopback in it',
  expected: { runc: EVERY_TIER },
  control: plainContainer,
  attempt: (kit) =>
    pythonProbe(
      kit,
      `
import socket, struct, time
def checksum(bytes):
  total = sum(struct.unpack('>%dH' % (len(bytes) // 2), bytes))
  while total >> 16: total = (total & 0xffff) + (total >> 16)
  return ~total & 0xffff
reasons = []
for kind in (socket.SOCK_RAW, socket.SOCK_DGRAM):
  try:
    with socket.socket(socket.AF_INET, kind, socket.IPPROTO_ICMP) as pings:
      pings.settimeout(2)
      body = struct.pack('>HH', 1, 1) + b'tc-probe'
      pings.sendto(struct.pack('>BBH', 8, 0, checksum(b'\\x08\\x00\\x00\\x00' + body)) + body, ('${kit.targets.hostAddress}', 0))
      found(b'tc-probe' in pings.recv(1000), 'answered')
  except OSError as thrown: reasons.append(failure(thrown))
found(False, ', '.join(reasons))
`,
    ),
};
