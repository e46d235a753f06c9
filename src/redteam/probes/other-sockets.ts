/** Other turns’ gateways, the supervisor’s own socket. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { hostContainer, type InsideProbe } from '../probe.ts';
import { pythonProbe } from '../python.ts';

export const otherSockets: InsideProbe = {
  kind: 'inside',
  id: 'other-sockets',
  topic: 'network',
  tries: 'to find any unix socket but the turn’s own, in the file system or without a name in it',
  why: 'no plan mounts the directory of sockets; those without a file belong to the network namespace',
  expected: { runc: EVERY_TIER },
  control: hostContainer,
  attempt: (kit) =>
    pythonProbe(
      kit,
      `
import stat
OWN = '/run/tierclaw/gateway.sock'
others = []
for top in ('/run', '/var', '/tmp', '/workspace', '/home', '/opt', '/dev', '/mnt', '/srv', '/etc'):
  for directory, folders, names in os.walk(top):
    for path in (os.path.join(directory, name) for name in names):
      try: kind = stat.S_IFMT(os.lstat(path).st_mode)
      except OSError: continue
      if kind == stat.S_IFSOCK and path != OWN: others.append(path)
nameless = [line.split()[-1] for line in open('/proc/net/unix').read().splitlines()[1:] if line.split()[-1].startswith('@')]
found(len(others + nameless) > 0, 'others: ' + (', '.join((others + nameless)[:5]) or 'none'))
`,
    ),
};
