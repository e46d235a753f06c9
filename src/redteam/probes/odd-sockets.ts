/** Families of sockets that few programs need and many holes were in. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { type InsideProbe, privilegedContainer } from '../probe.ts';
import { pythonProbe } from '../python.ts';

export const oddSockets: InsideProbe = {
  kind: 'inside',
  id: 'odd-sockets',
  topic: 'kernel',
  tries: 'to make sockets of other families: kernel crypto, Bluetooth, CAN, TIPC, X.25 and more',
  why: 'the filter lets UNIX, INET, INET6 and NETLINK through',
  expected: { runc: EVERY_TIER },
  control: privilegedContainer,
  attempt: (kit) =>
    pythonProbe(
      kit,
      `
import socket
made, refused = [], 0
for family in [3, 4, 5, 6, 8, 9, 12, 15, 20, 21, 23, 26, 29, 30, 31, 33, 35, 37, 38, 39, 41, 43, 44, 45]:
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
