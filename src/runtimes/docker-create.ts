/**
 * ContainerSpec → the engine's create options. Pure. What DESIGN calls "in every tier, always" stands here and nowhere
 * else; what differs between containers comes from `spec.limits` alone.
 */
import type { ContainerCreateOptions, HostConfig, MountSettings } from 'dockerode';
import type { ContainerSpec, PlannedLimits } from '../domain/plan.ts';
import { SECCOMP_PROFILE } from './seccomp.ts';

/**
 * Open files per process, soft and hard: four times Node's and Git's appetite for a large checkout, and low enough that
 * 256 processes can't exhaust the kernel's file table (each costs it about 256 bytes).
 */
const OPEN_FILES = 4096;

/** The kernel takes containers first when the machine, not the container, runs out of memory; the supervisor stays. */
const OOM_SCORE = 500;

/** Used where stop is called without a time of its own. */
const STOP_SECONDS = 2;

/** IpcMode none removes `/dev/shm` and leaves `/dev/mqueue`, which is then covered by something unwritable. */
const COVERED_MQUEUE = { '/dev/mqueue': 'ro,size=4k,mode=555' };

const tmpfs = (limits: PlannedLimits): Record<string, string> => ({
  ...(limits.ipcNamespace === 'none' ? COVERED_MQUEUE : {}),
  ...(limits.tmp === null
    ? {}
    : { '/tmp': `rw,nosuid,nodev,noexec,size=${limits.tmp.bytes},nr_inodes=${limits.tmp.inodes},mode=1777` }),
});

const ulimits = (limits: PlannedLimits): { Name: string; Soft: number; Hard: number }[] => [
  { Name: 'nofile', Soft: OPEN_FILES, Hard: OPEN_FILES },
  { Name: 'core', Soft: 0, Hard: 0 },
  // The cover hides the directory of message queues; this keeps the calls from making any.
  ...(limits.ipcNamespace === 'none' ? [{ Name: 'msgqueue', Soft: 0, Hard: 0 }] : []),
  ...(limits.fileBytes === null ? [] : [{ Name: 'fsize', Soft: limits.fileBytes, Hard: limits.fileBytes }]),
];

/** The engine gives as much swap again as memory unless it is told that both together are no more than memory. */
const memory = (limits: PlannedLimits): HostConfig =>
  limits.memoryBytes === null
    ? {}
    : { Memory: limits.memoryBytes, ...(limits.swap ? {} : { MemorySwap: limits.memoryBytes }) };

const mount = (planned: ContainerSpec['mounts'][number]): MountSettings => ({
  Type: 'bind',
  Source: planned.source,
  Target: planned.target,
  ReadOnly: planned.readOnly,
  BindOptions: { Propagation: 'rprivate' },
});

const hostConfig = (spec: ContainerSpec): HostConfig & { readonly CgroupnsMode: 'private' } => ({
  CapDrop: ['ALL'],
  SecurityOpt: ['no-new-privileges', `seccomp=${JSON.stringify(SECCOMP_PROFILE)}`],
  Init: true,
  NetworkMode: 'none',
  IpcMode: spec.limits.ipcNamespace,
  CgroupnsMode: 'private',
  LogConfig: { Type: 'none', Config: {} },
  ReadonlyRootfs: spec.limits.rootfs === 'read-only',
  Mounts: spec.mounts.map(mount),
  Tmpfs: tmpfs(spec.limits),
  Ulimits: ulimits(spec.limits),
  OomScoreAdj: OOM_SCORE,
  ...memory(spec.limits),
  ...(spec.limits.cpus === null ? {} : { NanoCpus: Math.round(spec.limits.cpus * 1e9) }),
  ...(spec.limits.pids === null ? {} : { PidsLimit: spec.limits.pids }),
});

/**
 * A command is all that is run: the image's entrypoint would come before it. An empty one means the image's own.
 */
const command = (words: readonly string[]): ContainerCreateOptions =>
  words.length === 0 ? {} : { Entrypoint: [], Cmd: [...words] };

/** The body of `POST /containers/create`. */
export type CreateBody = ContainerCreateOptions;

export const createOptions = (spec: ContainerSpec): CreateBody => ({
  Image: spec.image,
  ...command(spec.command),
  Healthcheck: { Test: ['NONE'] },
  Env: Object.entries(spec.env).map(([name, value]) => `${name}=${value}`),
  Labels: { ...spec.labels },
  User: `${spec.uid}:${spec.uid}`,
  WorkingDir: spec.workdir,
  Hostname: 'agent',
  AttachStdin: true,
  AttachStdout: true,
  AttachStderr: true,
  OpenStdin: true,
  // The dead man's switch: without it the engine keeps stdin open for ever when the supervisor's attach has gone.
  StdinOnce: true,
  Tty: false,
  StopTimeout: STOP_SECONDS,
  HostConfig: hostConfig(spec),
});

interface Discard {
  readonly field: keyof PlannedLimits;
  /** Words of the engine's warning. */
  readonly warning: RegExp;
}

const DISCARDS: readonly Discard[] = [
  { field: 'swap', warning: /swap limit|memory limited without swap/i },
  { field: 'memoryBytes', warning: /memory limit capabilities/i },
  { field: 'pids', warning: /pids limit/i },
  { field: 'cpus', warning: /cfs (quota|period|scheduler)|nanocpus/i },
];

/** True where the spec relies on that limit. */
const wants = (limits: PlannedLimits, field: keyof PlannedLimits): boolean =>
  field === 'swap' ? !limits.swap && limits.memoryBytes !== null : limits[field] !== null;

/**
 * The limits of this spec that the engine says it won't keep, by its warnings at create. A warning about something
 * discarded that this table doesn't know counts too, as `unknown`: a limit may not vanish because it was renamed.
 */
export const discardedLimits = (warnings: readonly string[], limits: PlannedLimits): readonly string[] => {
  const lost = warnings.flatMap((warning) => {
    const known = DISCARDS.filter((discard) => discard.warning.test(warning));
    if (known.length === 0) return /discarded/i.test(warning) ? ['unknown'] : [];
    return known.map((discard) => discard.field).filter((field) => wants(limits, field));
  });
  return [...new Set(lost)];
};
