/** What else runs on the machine. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { hostContainer, type InsideProbe } from '../probe.ts';
import { pythonProbe } from '../python.ts';

export const otherProcesses: InsideProbe = {
  kind: 'inside',
  id: 'other-processes',
  topic: 'processes',
  tries: 'to see a process of the host or of another container',
  why: 'every container has a process namespace of its own',
  expected: { runc: EVERY_TIER },
  control: hostContainer,
  attempt: (kit) =>
    pythonProbe(
      kit,
      `
names = []
for pid in sorted((name for name in os.listdir('/proc') if name.isdigit()), key=int):
  try: names.append(open('/proc/%s/comm' % pid).read().strip())
  except OSError: pass
foreign = [name for name in names if name in ('dockerd', 'containerd', 'systemd', 'kthreadd', 'containerd-shim')]
if foreign or len(names) > 40: found(True, '%d processes, among them %s' % (len(names), ', '.join(foreign[:4])))
first = open('/proc/1/comm').read().strip()
found(False, '%d processes; the first is %s' % (len(names), first))
`,
    ),
};
