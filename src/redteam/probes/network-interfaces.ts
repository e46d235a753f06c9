/** What isn’t there can’t be used. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { type InsideProbe, plainContainer } from '../probe.ts';
import { pythonProbe } from '../python.ts';

export const networkInterfaces: InsideProbe = {
  kind: 'inside',
  id: 'network-interfaces',
  topic: 'network',
  tries: 'to find any network interface but loopback, or a route',
  why: 'the network namespace is empty: there is nothing but loopback in it',
  expected: { runc: EVERY_TIER },
  control: plainContainer,
  attempt: (kit) =>
    pythonProbe(
      kit,
      `
names = [line.split(':')[0].strip() for line in open('/proc/net/dev').read().splitlines()[2:]]
routes = [line for line in open('/proc/net/route').read().splitlines()[1:] if line.strip()]
# Tunnels that the kernel makes in every namespace lead nowhere until somebody sets them up.
IDLE = ('tunl0', 'sit0', 'gre0', 'gretap0', 'erspan0', 'ip_vti0', 'ip6_vti0', 'ip6tnl0', 'ip6gre0')
others = [name for name in names if name != 'lo' and name not in IDLE]
found(len(others) + len(routes) > 0, 'others: %s; %d routes' % (', '.join(others) or 'none', len(routes)))
`,
    ),
};
