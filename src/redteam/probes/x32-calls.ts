/** The same calls under other numbers, which a filter may not know. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { type InsideProbe, privilegedContainer } from '../probe.ts';
import { pythonProbe } from '../python.ts';

export const x32Calls: InsideProbe = {
  kind: 'inside',
  id: 'x32-calls',
  topic: 'kernel',
  tries: 'to get past the filter with x32 call numbers',
  why: 'the filter lets the machine’s own calls through, and no other set of numbers',
  expected: { runc: EVERY_TIER },
  control: privilegedContainer,
  attempt: (kit) =>
    pythonProbe(
      kit,
      `
pid = os.fork()
if pid == 0:
  result, error = call(0x40000000 + 39)
  os._exit(0 if result > 0 else 3 if error == 'ENOSYS' else 1)
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
if status == 3: missing('the kernel has no x32 calls')
found(status == 0, 'x32 getpid: %s' % ('done' if status == 0 else 'killed' if status < 0 else 'refused'))
`,
    ),
};
