import { describe, expect, it } from 'vitest';
import { SECCOMP_PROFILE } from '../../src/runtimes/seccomp.ts';

const rulesOf = (name: string) => SECCOMP_PROFILE.syscalls.filter((rule) => rule.names.includes(name));

const FORBIDDEN = `add_key bpf chroot fanotify_init fanotify_mark finit_module fsconfig fsmount fsopen init_module
  io_cancel io_destroy io_getevents io_pgetevents io_setup io_submit io_uring_enter io_uring_register io_uring_setup ioperm iopl kcmp kexec_file_load kexec_load keyctl mount mount_setattr
  move_mount name_to_handle_at open_by_handle_at open_tree perf_event_open pidfd_getfd pivot_root process_madvise
  process_vm_readv process_vm_writev ptrace quotactl reboot request_key setns socketcall swapon syslog umount umount2
  unshare userfaultfd`.split(/\s+/);

describe('the seccomp profile', () => {
  it('refuses with EPERM what it does not name', () => {
    expect(SECCOMP_PROFILE.defaultAction).toBe('SCMP_ACT_ERRNO');
    expect(SECCOMP_PROFILE.defaultErrnoRet).toBe(1);
  });

  it.each(FORBIDDEN)('does not name %s', (name) => {
    expect(rulesOf(name)).toEqual([]);
  });

  it('allows sockets of four families alone', () => {
    const families = rulesOf('socket').map((rule) => rule.args);
    expect(families).toEqual([1, 2, 10, 16].map((value) => [{ index: 0, op: 'SCMP_CMP_EQ', value }]));
    expect(rulesOf('socketpair').map((rule) => rule.args)).toEqual([[{ index: 0, op: 'SCMP_CMP_EQ', value: 1 }]]);
  });

  it('allows clone without any flag of a new namespace, and answers clone3 with ENOSYS', () => {
    const flags = 0x0002_0000 | 0x0200_0000 | 0x0400_0000 | 0x0800_0000 | 0x1000_0000 | 0x2000_0000 | 0x4000_0000;
    expect(rulesOf('clone').map((rule) => rule.args)).toEqual([
      [{ index: 0, op: 'SCMP_CMP_MASKED_EQ', value: flags, valueTwo: 0 }],
    ]);
    expect(rulesOf('clone3')).toEqual([{ names: ['clone3'], action: 'SCMP_ACT_ERRNO', errnoRet: 38 }]);
  });

  it('knows no 32-bit entry', () => {
    expect(SECCOMP_PROFILE.archMap.flatMap((arch) => arch.subArchitectures)).toEqual([]);
  });

  it('keeps the names of each purpose sorted, and each name in one place', () => {
    const tables = SECCOMP_PROFILE.syscalls.filter((rule) => rule.names.length > 1).map((rule) => [...rule.names]);
    for (const names of tables) expect(names).toEqual([...names].sort());
    expect(new Set(tables.flat()).size).toBe(tables.flat().length);
  });
});
