/** Reaching into another process of the same user: the runner. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { type InsideProbe, privilegedContainer } from '../probe.ts';
import { pythonProbe } from '../python.ts';

export const traceProcesses: InsideProbe = {
  kind: 'inside',
  id: 'trace-processes',
  topic: 'processes',
  tries: 'to trace a process, or to take its memory or descriptors by system calls',
  why: 'ptrace, process_vm_readv and pidfd_getfd are not in the filter’s list',
  expected: { runc: EVERY_TIER },
  control: privilegedContainer,
  attempt: (kit) =>
    pythonProbe(
      kit,
      `
import time
pid = os.fork()
if pid == 0: time.sleep(5); os._exit(0)
def done(what, answer):
  if answer[1] not in KEPT_OUT + ABSENT: os.kill(pid, 9); found(True, what + ': ' + (answer[1] or 'done'))
import struct
space = ctypes.create_string_buffer(8)
vector = ctypes.create_string_buffer(struct.pack('<QQ', ctypes.addressof(space), 8))
done('process_vm_readv', call('process_vm_readv', pid, ctypes.addressof(vector), 1, ctypes.addressof(vector), 1, 0))
descriptor, _ = call('pidfd_open', pid, 0)
if descriptor >= 0: done('pidfd_getfd', call('pidfd_getfd', descriptor, 0, 0))
answer = call('ptrace', 16, pid, 0, 0)
os.kill(pid, 9)
judge('ptrace', answer)
`,
    ),
};
