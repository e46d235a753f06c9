/** Families of sockets that few programs need and many holes were in. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { type InsideProbe, privilegedContainer } from '../probe.ts';
import { pythonProbe } from '../python.ts';

export const oddSockets: InsideProbe = {
  kind: 'inside',
  id: 'odd-sockets',
  topic: 'kernel',
  tries: 'to make sockets of other families: IPsec keys, kernel crypto, XDP',
  why: 'the filter lets UNIX, INET, INET6 and NETLINK through',
  expected: { runc: EVERY_TIER },
  control: privilegedContainer,
  attempt: (kit) =>
    pythonProbe(
      kit,
      `
import socket
made, refused = [], 0
# More families would make the control load modules into the operator’s kernel.
for family in (15, 38, 44):
  for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET, socket.SOCK_RAW):
    try: socket.socket(family, kind, 0); made.append(str(family))
    except PermissionError: refused += 1
    except OSError: pass
if made: found(True, 'families ' + ', '.join(sorted(set(made))))
if refused == 0: missing('the kernel has none of them')
found(False, '%d refused' % refused)
`,
    ),
};
