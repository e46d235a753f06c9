/**
 * The seccomp profile of every container: an allowlist, 64-bit entry only; whatever it doesn't name fails with EPERM.
 *
 * Left out, against what engines allow by default or what programs may ask for:
 * - sockets of any family but UNIX, INET, INET6 and NETLINK: AF_VSOCK reaches the hypervisor past every network
 *   namespace; AF_ALG, AF_PACKET and the rest are kernel surface that no agent needs. `socketcall` would bypass that.
 * - io_uring: opens, reads and connects where no filter sees it. userfaultfd: makes kernel races winnable.
 * - Linux AIO (io_setup …): its contexts count against one number for the whole host, which one container can use up.
 * - keyctl, add_key, request_key: kernel keyrings aren't namespaced. bpf, perf_event_open: kernel surface.
 * - ptrace, process_vm_*, process_madvise, kcmp, pidfd_getfd: one process reaching into another.
 * - mounts, new namespaces (unshare, setns, clone with a CLONE_NEW* flag), chroot, pivot_root, quotas, swap, clocks,
 *   modules, kexec, reboot: the host's business. clone3 keeps its flags in memory that a filter can't read: it answers
 *   ENOSYS, so that libraries fall back to clone.
 * - file handles and fanotify (name_to_handle_at, open_by_handle_at), syslog, NUMA policy, modify_ldt, memfd_secret,
 *   and 32-bit and x32 calls altogether: one table can't be right for three sets of numbers.
 *
 * A name that the engine's libseccomp doesn't know is skipped by runc, so newer calls may stand here.
 */

/** Allowed whatever their arguments are: one line of sorted names per purpose. */
const ALLOWED: Readonly<Record<string, string>> = {
  files: `access chdir chmod chown close close_range copy_file_range creat dup dup2 dup3 faccessat faccessat2 fadvise64
    fallocate fchdir fchmod fchmodat fchmodat2 fchown fchownat fcntl fdatasync flock fstat fstatfs fsync ftruncate
    futimesat getcwd getdents getdents64 ioctl lchown link linkat lseek lstat mkdir mkdirat mknod mknodat newfstatat
    open openat openat2 pipe pipe2 pread64 preadv preadv2 pwrite64 pwritev pwritev2 read readahead readlink readlinkat
    readv rename renameat renameat2 rmdir sendfile splice stat statfs statx symlink symlinkat sync sync_file_range
    syncfs tee truncate umask unlink unlinkat utime utimensat utimes vmsplice write writev`,
  attributes: `fgetxattr flistxattr fremovexattr fsetxattr getxattr getxattrat lgetxattr listxattr listxattrat
    llistxattr lremovexattr lsetxattr removexattr removexattrat setxattr setxattrat`,
  memory: `brk cachestat madvise map_shadow_stack membarrier memfd_create mincore mlock mlock2 mlockall mmap mprotect
    mremap mseal msync munlock munlockall munmap pkey_alloc pkey_free pkey_mprotect`,
  processes: `arch_prctl execve execveat exit exit_group fork get_robust_list getpgid getpgrp getpid getppid getsid
    gettid pidfd_open pidfd_send_signal prctl rseq set_robust_list set_tid_address setpgid setsid vfork wait4 waitid`,
  identity: `capget capset getegid geteuid getgid getgroups getresgid getresuid getuid setfsgid setfsuid setgid
    setgroups setregid setresgid setresuid setreuid setuid`,
  scheduling: `getcpu getpriority getrlimit getrusage ioprio_get ioprio_set prlimit64 sched_get_priority_max
    sched_get_priority_min sched_getaffinity sched_getattr sched_getparam sched_getscheduler sched_rr_get_interval
    sched_setaffinity sched_setattr sched_setparam sched_setscheduler sched_yield setpriority setrlimit`,
  signals: `kill pause restart_syscall rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo rt_sigreturn
    rt_sigsuspend rt_sigtimedwait rt_tgsigqueueinfo sigaltstack signalfd signalfd4 tgkill tkill uretprobe`,
  waiting: `epoll_create epoll_create1 epoll_ctl epoll_pwait epoll_pwait2 epoll_wait eventfd eventfd2 futex
    futex_requeue futex_wait futex_waitv futex_wake inotify_add_watch inotify_init inotify_init1 inotify_rm_watch poll
    ppoll pselect6 select`,
  time: `alarm clock_getres clock_gettime clock_nanosleep getitimer gettimeofday nanosleep setitimer time timer_create
    timer_delete timer_getoverrun timer_gettime timer_settime timerfd_create timerfd_gettime timerfd_settime times`,
  sockets: `accept accept4 bind connect getpeername getsockname getsockopt listen recvfrom recvmmsg recvmsg sendmmsg
    sendmsg sendto setsockopt shutdown`,
  ipc: `mq_getsetattr mq_notify mq_open mq_timedreceive mq_timedsend mq_unlink msgctl msgget msgrcv msgsnd semctl semget
    semop semtimedop shmat shmctl shmdt shmget`,
  system: 'getrandom sysinfo uname',
  sandboxes: 'landlock_add_rule landlock_create_ruleset landlock_restrict_self seccomp',
};

const AF = { unix: 1, inet: 2, inet6: 10, netlink: 16 } as const;

/** Every CLONE_NEW* flag that clone takes: mount, cgroup, uts, ipc, user, pid and network namespaces. */
const CLONE_NEW = 0x7e02_0000;

/** PER_LINUX, and the question what it is; nothing that weakens address randomisation. */
const PERSONALITIES = [0, 0xffff_ffff] as const;

const ENOSYS = 38;
const EPERM = 1;

interface Condition {
  readonly index: number;
  readonly op: 'SCMP_CMP_EQ' | 'SCMP_CMP_MASKED_EQ';
  readonly value: number;
  readonly valueTwo?: number;
}

interface Rule {
  readonly names: readonly string[];
  readonly action: 'SCMP_ACT_ALLOW' | 'SCMP_ACT_ERRNO';
  readonly errnoRet?: number;
  readonly args?: readonly Condition[];
}

interface SeccompProfile {
  readonly defaultAction: 'SCMP_ACT_ERRNO';
  readonly defaultErrnoRet: number;
  readonly archMap: readonly { readonly architecture: string; readonly subArchitectures: readonly string[] }[];
  readonly syscalls: readonly Rule[];
}

const firstArgumentIs = (name: string, value: number): Rule => ({
  names: [name],
  action: 'SCMP_ACT_ALLOW',
  args: [{ index: 0, op: 'SCMP_CMP_EQ', value }],
});

const RESTRICTED: readonly Rule[] = [
  ...Object.values(AF).map((family) => firstArgumentIs('socket', family)),
  firstArgumentIs('socketpair', AF.unix),
  ...PERSONALITIES.map((persona) => firstArgumentIs('personality', persona)),
  {
    names: ['clone'],
    action: 'SCMP_ACT_ALLOW',
    args: [{ index: 0, op: 'SCMP_CMP_MASKED_EQ', value: CLONE_NEW, valueTwo: 0 }],
  },
  { names: ['clone3'], action: 'SCMP_ACT_ERRNO', errnoRet: ENOSYS },
];

/** The profile as the engine takes it (`SecurityOpt: ['seccomp=' + JSON]`). */
export const SECCOMP_PROFILE: SeccompProfile = {
  defaultAction: 'SCMP_ACT_ERRNO',
  defaultErrnoRet: EPERM,
  archMap: [
    { architecture: 'SCMP_ARCH_X86_64', subArchitectures: [] },
    { architecture: 'SCMP_ARCH_AARCH64', subArchitectures: [] },
  ],
  syscalls: [
    ...Object.values(ALLOWED).map((line): Rule => ({ names: line.split(/\s+/), action: 'SCMP_ACT_ALLOW' })),
    ...RESTRICTED,
  ],
};
