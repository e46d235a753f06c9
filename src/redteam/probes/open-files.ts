/** The kernel’s table of open files is everybody’s. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { type InsideProbe, plainContainer } from '../probe.ts';
import { pythonProbe } from '../python.ts';

export const openFiles: InsideProbe = {
  kind: 'inside',
  id: 'open-files',
  topic: 'limits',
  tries: 'to open 10 000 files in one process',
  why: 'the limit on open files is 4096, soft and hard',
  expected: { runc: EVERY_TIER },
  control: plainContainer,
  attempt: (kit) =>
    pythonProbe(
      kit,
      `
import resource
try: resource.setrlimit(resource.RLIMIT_NOFILE, (min(10100, resource.getrlimit(resource.RLIMIT_NOFILE)[1]),) * 2 if os.geteuid() != 0 else (10100, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
except (ValueError, OSError): pass
opened, reason = [], 'all of them'
try:
  for _ in range(10000): opened.append(os.open('/dev/null', os.O_RDONLY))
except OSError as thrown: reason = failure(thrown)
found(len(opened) >= 10000, '%d files: %s' % (len(opened), reason))
`,
    ),
};
