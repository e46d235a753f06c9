/** Sockets to the hypervisor go past every network namespace. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { type InsideProbe, privilegedContainer } from '../probe.ts';
import { pythonProbe } from '../python.ts';

export const hypervisorSocket: InsideProbe = {
  kind: 'inside',
  id: 'hypervisor-socket',
  topic: 'kernel',
  tries: 'to make an AF_VSOCK socket',
  why: 'the filter lets UNIX, INET, INET6 and NETLINK through',
  expected: { runc: EVERY_TIER },
  control: privilegedContainer,
  attempt: (kit) =>
    pythonProbe(
      kit,
      `
import socket
try: socket.socket(40, socket.SOCK_STREAM, 0)
except OSError as thrown: judge('AF_VSOCK', (-1, failure(thrown)))
found(True, 'AF_VSOCK: made')
`,
    ),
};
