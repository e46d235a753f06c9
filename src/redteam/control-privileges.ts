/**
 * All that `--privileged` gives, spelled out: the flag itself fails where the engine lacks a single capability (as in a
 * virtual machine's container), and then no control would run at all.
 */
import { readFileSync } from 'node:fs';

/** In the order of their bits. The later ones are parts of SYS_ADMIN, and not every engine knows their names. */
const CAPABILITIES =
  'CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP LINUX_IMMUTABLE NET_BIND_SERVICE ' +
  'NET_BROADCAST NET_ADMIN NET_RAW IPC_LOCK IPC_OWNER SYS_MODULE SYS_RAWIO SYS_CHROOT SYS_PTRACE SYS_PACCT SYS_ADMIN ' +
  'SYS_BOOT SYS_NICE SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG MKNOD LEASE AUDIT_WRITE AUDIT_CONTROL SETFCAP MAC_OVERRIDE ' +
  'MAC_ADMIN SYSLOG WAKE_ALARM BLOCK_SUSPEND AUDIT_READ';

/** What processes of this machine may have at all; the engine is one of them. */
const boundingSet = (): bigint => {
  const bits = /^CapBnd:\s*([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1];
  return BigInt(`0x${bits ?? '0'}`);
};

const available = (bits: bigint): string[] =>
  CAPABILITIES.split(' ').filter((_, at) => ((bits >> BigInt(at)) & 1n) === 1n);

/** Capabilities that nothing on this machine has: what they allow or forbid can't be shown here. */
export const absentCapabilities = (): readonly string[] => {
  const here = available(boundingSet());
  return CAPABILITIES.split(' ').filter((name) => !here.includes(name));
};

/** For the engine's HostConfig. */
export const everyPrivilege = () => ({
  CapAdd: available(boundingSet()),
  SecurityOpt: ['seccomp=unconfined', 'apparmor=unconfined'],
  MaskedPaths: [],
  ReadonlyPaths: [],
  DeviceCgroupRules: ['a *:* rwm'],
});

/** The rest of it happens inside: what the engine mounts read-only is made writable. */
export const UNLOCK = [
  'mount -o remount,bind,rw /sys',
  'for at in /sys/fs/cgroup /sys/fs/cgroup/*; do mount -o remount,bind,rw "$at"; done',
].join('\n');
