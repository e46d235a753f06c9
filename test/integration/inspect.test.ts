import type Docker from 'dockerode';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { TIER_NAMES, type TierName, tierRow } from '../../src/domain/tiers.ts';
import { type Installation, install } from './installation.ts';

const FOLDERS: Readonly<Record<TierName, string>> = { main: 'main', trusted: 'friends', untrusted: 'lobby' };
const MIB = 1024 * 1024;
/** The spec's own, and what a base image sets. */
const ENVIRONMENT = ['HOME', 'LANG', 'NODE_COMPILE_CACHE', 'NODE_VERSION', 'PATH', 'YARN_VERSION'];

describe('docker inspect of a running turn', () => {
  let installation: Installation;
  const seen = new Map<TierName, Docker.ContainerInspectInfo>();

  const inspectDuring = async (tier: TierName): Promise<Docker.ContainerInspectInfo> => {
    const turn = installation.say(FOLDERS[tier], 'run: sleep 2');
    const found = await vi.waitFor(async () => {
      const all = await installation.containers();
      const own = all.find(({ Labels }) => Labels['tierclaw.tier'] === tier);
      expect(own?.State).toBe('running');
      return own;
    }, 10_000);
    const inspected = await installation.docker.getContainer(found?.Id ?? '').inspect();
    await turn;
    return inspected;
  };

  beforeAll(async () => {
    installation = await install();
    for (const tier of TIER_NAMES) seen.set(tier, await inspectDuring(tier));
  });
  afterAll(() => installation?.close());

  const of = (tier: TierName): Docker.ContainerInspectInfo => {
    const inspected = seen.get(tier);
    if (inspected === undefined) throw new Error(`nothing was inspected in ${tier}`);
    return inspected;
  };

  it.each(TIER_NAMES)('shows in %s what every tier always has', (tier) => {
    const { Config, HostConfig, NetworkSettings } = of(tier);
    expect(Config.User).toBe('10001:10001');
    expect(HostConfig.CapDrop).toEqual(['ALL']);
    expect(HostConfig.CapAdd ?? []).toEqual([]);
    expect(HostConfig.Privileged).toBe(false);
    expect(HostConfig.SecurityOpt).toEqual([
      'no-new-privileges',
      expect.stringMatching(/^seccomp=\{"defaultAction":"SCMP_ACT_ERRNO"/),
    ]);
    expect(HostConfig.Init).toBe(true);
    expect(HostConfig.NetworkMode).toBe('none');
    expect(Object.keys(NetworkSettings.Networks)).toEqual(['none']);
    expect(HostConfig).toMatchObject({ CgroupnsMode: 'private', LogConfig: { Type: 'none' } });
    expect(HostConfig.PidMode).toBe('');
    expect(HostConfig.AutoRemove).toBe(false);
    expect(HostConfig.Binds ?? []).toEqual([]);
    expect(HostConfig.Devices ?? []).toEqual([]);
    expect(Config.Tty).toBe(false);
    expect(Config.OpenStdin).toBe(true);
    const ulimits = Object.fromEntries((HostConfig.Ulimits ?? []).map(({ Name, Hard }) => [Name, Hard]));
    expect(ulimits).toMatchObject({ core: 0, nofile: expect.any(Number) });
    expect(JSON.stringify(HostConfig.Mounts)).not.toMatch(/docker\.sock|containerd/);
  });

  it.each(TIER_NAMES)('labels the container in %s', (tier) => {
    expect(of(tier).Config.Labels).toMatchObject({
      'tierclaw.home': installation.home.dir,
      'tierclaw.group': FOLDERS[tier],
      'tierclaw.tier': tier,
      'tierclaw.agent': 'default',
      'tierclaw.invocation': expect.stringMatching(/^[0-9A-Z]{26}$/),
    });
  });

  it.each(TIER_NAMES)('mounts in %s just what the tier table says', (tier) => {
    const mounts = of(tier).Mounts.map(({ Destination, RW }) => `${Destination} ${RW ? 'rw' : 'ro'}`);
    const { group, trusted, agent, global, ipc } = tierRow(tier).mounts;
    const expected = [
      `/workspace/group ${group}`,
      `/workspace/global ${global === 'rw' ? 'rw' : 'ro'}`,
      ...(trusted === 'none' ? [] : [`/workspace/trusted ${trusted}`]),
      '/workspace/store ro',
      ...(ipc === 'whole' ? ['/workspace/ipc rw'] : ['/workspace/ipc/messages rw', '/workspace/ipc/input ro']),
      '/workspace/tiles ro',
      `/workspace/agent ${agent}`,
      '/run/tierclaw ro',
    ];
    expect(mounts.sort()).toEqual(expected.sort());
  });

  it('shows the limits of the untrusted tier', () => {
    const { HostConfig } = of('untrusted');
    expect(HostConfig).toMatchObject({
      ReadonlyRootfs: true,
      Memory: 512 * MIB,
      MemorySwap: 512 * MIB,
      PidsLimit: 256,
      IpcMode: 'none',
    });
    expect(HostConfig.NanoCpus || (HostConfig.CpuQuota ?? 0) / (HostConfig.CpuPeriod ?? 1)).toSatisfy(
      (cpus: number) => cpus === 1_000_000_000 || cpus === 1,
    );
    const tmp = HostConfig.Tmpfs?.['/tmp'] ?? '';
    for (const option of ['nosuid', 'nodev', 'noexec', `size=${64 * MIB}`, 'nr_inodes=16384']) {
      expect(tmp.split(',')).toContain(option);
    }
    expect(HostConfig.Tmpfs?.['/dev/mqueue']).toBe('ro,size=4k,mode=555');
    expect(HostConfig.Ulimits?.find(({ Name }) => Name === 'fsize')?.Hard).toBe(64 * MIB);
  });

  it.each(['main', 'trusted'] as const)('shows in %s only the home’s host protection', (tier) => {
    const { HostConfig } = of(tier);
    expect(HostConfig.ReadonlyRootfs).toBe(false);
    expect(HostConfig.IpcMode).toBe('private');
    expect(HostConfig.PidsLimit).toBe(4096);
    expect(HostConfig.Memory).toBeGreaterThan(512 * MIB);
    expect(HostConfig.Tmpfs?.['/tmp']).toBeUndefined();
  });

  it.each(TIER_NAMES)('shows in %s no secret and nothing of the supervisor’s environment', (tier) => {
    const names = of(tier).Config.Env.map((variable) => variable.slice(0, variable.indexOf('=')));
    expect(names.filter((name) => !ENVIRONMENT.includes(name))).toEqual([]);
  });
});
