/** Interfaces of one’s own. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { type InsideProbe, privilegedContainer } from '../probe.ts';
import { pythonProbe } from '../python.ts';

export const networkSetup: InsideProbe = {
  kind: 'inside',
  id: 'network-setup',
  topic: 'network',
  tries: 'to add a network interface or a route by netlink',
  why: 'it needs CAP_NET_ADMIN',
  expected: { runc: EVERY_TIER },
  control: privilegedContainer,
  attempt: (kit) =>
    pythonProbe(
      kit,
      `
import socket, struct
RTM_NEWLINK, NLM_F = 16, 0x605
info = struct.pack('=HHI', 8, 0, 0)
name = struct.pack('=HH', 4 + 8, 3) + b'tc-veth\\0'
kind = struct.pack('=HH', 4 + 5, 1) + b'veth\\0' + b'\\0' * 3
link = struct.pack('=HH', 4 + len(kind), 18) + kind
body = struct.pack('=BxHiII', 0, 0, 0, 0, 0xffffffff) + name + link
with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as netlink:
  netlink.send(struct.pack('=IHHII', 16 + len(body), RTM_NEWLINK, NLM_F, 1, 0) + body)
  code = -struct.unpack('=i', netlink.recv(4096)[16:20])[0]
# A kernel without such interfaces says so, but only to whom it would have let.
found(errno.errorcode.get(code) not in KEPT_OUT, 'RTM_NEWLINK: ' + errno.errorcode.get(code, 'done'))
`,
    ),
};
