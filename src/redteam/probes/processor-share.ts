/** All of the machine’s cores. */
import { OUTSIDER_TIERS } from '../../domain/tiers.ts';
import { type InsideProbe, plainContainer } from '../probe.ts';
import { pythonProbe } from '../python.ts';

export const processorShare: InsideProbe = {
  kind: 'inside',
  id: 'processor-share',
  topic: 'limits',
  tries: 'to have more than one core',
  why: 'the container’s share is one core',
  expected: { runc: OUTSIDER_TIERS },
  elsewhere: 'these tiers share the machine with the others by weight alone',
  control: plainContainer,
  attempt: (kit) =>
    pythonProbe(
      kit,
      `
for path in ('/sys/fs/cgroup/cpu.max', '/sys/fs/cgroup/cpu/cpu.cfs_quota_us', '/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us'):
  if not os.path.exists(path): continue
  quota = open(path).read().split()
  period = int(quota[1]) if len(quota) > 1 else int(open(os.path.dirname(path) + '/cpu.cfs_period_us').read())
  cores = float('inf') if quota[0] in ('max', '-1') else int(quota[0]) / period
  found(cores > 1, '%s cores' % cores)
missing('no control group for processors is shown')
`,
    ),
};
