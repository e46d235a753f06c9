/** The engine’s API over TCP. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { type InsideProbe, noControl } from '../probe.ts';
import { pythonProbe } from '../python.ts';

export const enginePorts: InsideProbe = {
  kind: 'inside',
  id: 'engine-ports',
  topic: 'network',
  tries: 'to reach the engine at ports 2375 and 2376 of the host and of loopback',
  why: 'the network namespace is empty: there is nothing but loopback in it',
  expected: { runc: EVERY_TIER },
  control: noControl(
    'engines listen on no TCP port by themselves; that TCP to the host works without hardening is shown by network-tcp',
  ),
  attempt: (kit) =>
    pythonProbe(
      kit,
      `
import socket
reasons = set()
for address in ('${kit.targets.hostAddress}', '127.0.0.1', '172.17.0.1'):
  for port in (2375, 2376):
    try: socket.create_connection((address, port), 2); found(True, 'connected to %s:%d' % (address, port))
    except OSError as thrown: reasons.add(failure(thrown))
found(False, ', '.join(sorted(reasons)))
`,
    ),
};
