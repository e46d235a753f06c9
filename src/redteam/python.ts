/**
 * System calls as probes make them: from Python, where any number can be called with any argument. What the kernel
 * answers decides: EPERM, EACCES and a signal mean that it was kept out, any other answer that it got as far as the call.
 */
import { z } from 'zod';
import type { Kit, Outcome } from './probe.ts';

/** Numbers differ by machine; a name that isn't listed is in glibc. */
const NUMBERS = `{
  'x86_64': dict(unshare=272, setns=308, clone=56, clone3=435, mount=165, umount2=166, pivot_root=155, chroot=161,
    keyctl=250, add_key=248, bpf=321, perf_event_open=298, io_uring_setup=425, userfaultfd=323, ptrace=101,
    process_vm_readv=310, pidfd_open=434, pidfd_getfd=438, open_by_handle_at=304, init_module=175, adjtimex=159,
    sethostname=170, syslog=103, swapon=167, reboot=169, personality=135, fanotify_init=300, kcmp=312,
    memfd_secret=447, quotactl=179, setpriority=141, fsopen=430, open_tree=428),
  'aarch64': dict(unshare=97, setns=268, clone=220, clone3=435, mount=40, umount2=39, pivot_root=41, chroot=51,
    keyctl=219, add_key=217, bpf=280, perf_event_open=241, io_uring_setup=425, userfaultfd=282, ptrace=117,
    process_vm_readv=270, pidfd_open=434, pidfd_getfd=438, open_by_handle_at=265, init_module=105, adjtimex=171,
    sethostname=161, syslog=116, swapon=224, reboot=142, personality=92, fanotify_init=262, kcmp=272,
    memfd_secret=447, quotactl=60, setpriority=140, fsopen=430, open_tree=428),
}`;

const PRELUDE = `
import ctypes, errno, json, os, platform, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
numbers = ${NUMBERS}.get(platform.machine(), {})

def call(name, *arguments):
  "The result and, below 0, the name of the error."
  number = numbers[name] if isinstance(name, str) else name
  whole = [ctypes.c_long(one) if isinstance(one, int) else one for one in arguments]
  ctypes.set_errno(0)
  result = libc.syscall(ctypes.c_long(number), *whole)
  return result, errno.errorcode.get(ctypes.get_errno(), '') if result < 0 else ''

def found(reached, evidence):
  print(json.dumps({'reached': bool(reached), 'evidence': str(evidence)}), flush=True)
  os._exit(0)

def missing(what):
  print(json.dumps({'missing': what}), flush=True)
  os._exit(0)

KEPT_OUT = ('EPERM', 'EACCES')
ABSENT = ('ENOSYS', 'EAFNOSUPPORT', 'EPROTONOSUPPORT', 'ENODEV')

def judge(what, answer):
  "Any answer but a refusal means that the kernel took the call."
  result, error = answer
  if error in ABSENT: missing(what + ': ' + error)
  if error in KEPT_OUT: found(False, what + ': ' + error)
  found(True, what + ': ' + (error or 'done'))

def failure(thrown):
  return errno.errorcode.get(thrown.errno, str(thrown))

def opens(path, write):
  "What covers a file opens as well, but is empty."
  descriptor = os.open(path, (os.O_WRONLY if write else os.O_RDONLY) | os.O_NONBLOCK)
  try: return write or len(os.read(descriptor, 1)) > 0
  finally: os.close(descriptor)

def open_files(patterns, write=False):
  "Found where any of them can be opened and, unless for writing, has something in it. Nothing is written."
  import glob
  opened, refused, absent = [], [], 0
  for path in [one for pattern in patterns for one in glob.glob(pattern) or [pattern]]:
    try: (opened if opens(path, write) else refused).append(path)
    except OSError as thrown:
      if failure(thrown) in ('ENOENT', 'ENXIO', 'ENODEV'): absent += 1
      else: refused.append(path)
  if opened: found(True, 'opened ' + ', '.join(opened[:4]))
  if not refused: missing('the kernel has no such file')
  found(False, '%d refused, %d not there' % (len(refused), absent))
`;

const Answer = z.union([
  z.strictObject({ reached: z.boolean(), evidence: z.string() }),
  z.strictObject({ missing: z.string() }),
]);

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // Said below, with the text.
  }
};

/**
 * Runs Python that ends in `found(…)`, `missing(…)` or `judge(…)`, the vocabulary above. Throws where it ended
 * otherwise: then nothing is known.
 */
export const pythonProbe = async (kit: Kit, source: string, timeoutMs?: number): Promise<Outcome> => {
  const output = await kit.python(`${PRELUDE}\n${source}`, timeoutMs);
  const answer = Answer.safeParse(parse(output.split('\n').at(-1) ?? ''));
  if (answer.success) return answer.data;
  throw new Error(`no finding: ${output.slice(-200)}`);
};
