import { describe, expect, it } from 'vitest';
import type { ContainerSpec, PlannedLimits } from '../../src/domain/plan.ts';
import { createOptions, discardedLimits } from '../../src/runtimes/docker-create.ts';
import { SECCOMP_PROFILE } from '../../src/runtimes/seccomp.ts';

const MIB = 1024 * 1024;

const LIMITED: PlannedLimits = {
  rootfs: 'read-only',
  tmp: { bytes: 64 * MIB, inodes: 16_384 },
  ipcNamespace: 'none',
  memoryBytes: 512 * MIB,
  swap: false,
  cpus: 1,
  pids: 256,
  fileBytes: 64 * MIB,
  wallMs: 300_000,
};

const UNLIMITED: PlannedLimits = {
  rootfs: 'writable',
  tmp: null,
  ipcNamespace: 'private',
  memoryBytes: null,
  swap: true,
  cpus: null,
  pids: null,
  fileBytes: null,
  wallMs: null,
};

const specOf = (limits: PlannedLimits): ContainerSpec => ({
  name: 'tierclaw-01JZ0000000000000000000000',
  image: 'tierclaw-agent:0123456789abcdef',
  command: ['node', '/opt/tierclaw/runner.mjs'],
  env: { HOME: '/tmp/home', NODE_USE_ENV_PROXY: '1' },
  labels: { 'tierclaw.home': 'h', 'tierclaw.invocation': '01JZ0000000000000000000000' },
  uid: 10_001,
  workdir: '/workspace/group',
  mounts: [
    { target: '/workspace/group', source: '/home/x/groups/lobby', readOnly: false },
    { target: '/run/tierclaw', source: '/home/x/data/run/01JZ', readOnly: true },
  ],
  limits,
});

const PROFILE = `seccomp=${JSON.stringify(SECCOMP_PROFILE)}`;

/** The profile has a test of its own; 5 kB of it in one line would hide the rest. */
const golden = (limits: PlannedLimits): string =>
  `${JSON.stringify(createOptions(specOf(limits)), (_, value) => (value === PROFILE ? 'seccomp=<profile>' : value), 2)}\n`;

describe('the create options of a container', () => {
  it.each([
    { kind: 'limited', limits: LIMITED },
    { kind: 'unlimited', limits: UNLIMITED },
  ])('are those of the golden file for a container that is $kind', async ({ kind, limits }) => {
    await expect(golden(limits)).toMatchFileSnapshot(`../golden/docker-create.${kind}.json`);
  });

  it.each([LIMITED, UNLIMITED])('carry our seccomp profile, and never Binds or AutoRemove', (limits) => {
    const options = createOptions(specOf(limits));
    expect(options.HostConfig?.SecurityOpt).toEqual(['no-new-privileges', PROFILE]);
    expect(options.HostConfig).not.toHaveProperty('Binds');
    expect(options.HostConfig).not.toHaveProperty('AutoRemove');
    expect(options.HostConfig).not.toHaveProperty('Privileged');
  });

  it('leave swap to the engine where the limits allow it', () => {
    const host = createOptions(specOf({ ...LIMITED, swap: true })).HostConfig;
    expect(host?.Memory).toBe(512 * MIB);
    expect(host).not.toHaveProperty('MemorySwap');
  });
});

describe('the command of a container', () => {
  it('replaces the image’s entrypoint', () => {
    expect(createOptions(specOf(LIMITED))).toMatchObject({
      Entrypoint: [],
      Cmd: ['node', '/opt/tierclaw/runner.mjs'],
    });
  });

  it('is the image’s own where the spec has none', () => {
    const options = createOptions({ ...specOf(LIMITED), command: [] });
    expect(options).not.toHaveProperty('Entrypoint');
    expect(options).not.toHaveProperty('Cmd');
  });
});

describe('the warnings of an engine', () => {
  const warnings = {
    memory:
      'Your kernel does not support memory limit capabilities or the cgroup is not mounted. Limitation discarded.',
    swap: 'Your kernel does not support swap limit capabilities or the cgroup is not mounted. Memory limited without swap.',
    pids: 'Your kernel does not support pids limit capabilities or the cgroup is not mounted. PIDs limit discarded.',
    cpu: 'Your kernel does not support CPU CFS quota or the cgroup is not mounted. Quota discarded.',
    unheard: 'Your kernel does not support frobnication. Frobs discarded.',
    harmless: 'IPv4 forwarding is disabled. Networking will not work.',
  };

  it.each([
    { warning: 'memory', lost: ['memoryBytes'] },
    { warning: 'swap', lost: ['swap'] },
    { warning: 'pids', lost: ['pids'] },
    { warning: 'cpu', lost: ['cpus'] },
    { warning: 'unheard', lost: ['unknown'] },
    { warning: 'harmless', lost: [] },
  ] as const)('about $warning cost a limited container $lost', ({ warning, lost }) => {
    expect(discardedLimits([warnings[warning]], LIMITED)).toEqual(lost);
  });

  it('cost an unlimited container nothing that it has', () => {
    const { memory, swap, pids, cpu } = warnings;
    expect(discardedLimits([memory, swap, pids, cpu], UNLIMITED)).toEqual([]);
  });
});
