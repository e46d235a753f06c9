/** The red team on the real engine: a short run holds, every weakening of a container turns it red. */
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import Docker from 'dockerode';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { init } from '../../src/commands/init.ts';
import { redteam } from '../../src/commands/redteam.ts';
import { readEnvironment } from '../../src/config.ts';
import { EVERY_TIER, OUTSIDER_TIERS, type TierName } from '../../src/domain/tiers.ts';
import type { Home } from '../../src/home.ts';
import { CONTROL_LABEL, runPrefix } from '../../src/redteam/leftovers.ts';
import { held, type InsideProbe, type Probe, plainContainer } from '../../src/redteam/probe.ts';
import { PROBES } from '../../src/redteam/probes/index.ts';
import { runSuite } from '../../src/redteam/suite.ts';
import type { ProbeResult } from '../../src/redteam/verdict.ts';
import type { Amend } from '../../src/runtimes/docker.ts';
import type { CreateBody } from '../../src/runtimes/docker-create.ts';
import { contextOf, makeHome } from './installation.ts';

const operator: { home: Home | null } = { home: null };

const operatorHome = (): Home => {
  if (operator.home === null) throw new Error('the home was not made');
  return operator.home;
};

beforeAll(async () => {
  operator.home = await makeHome();
});

afterAll(async () => {
  await rm(operatorHome().dir, { recursive: true, force: true });
});

const named = (ids: string): readonly Probe[] => {
  const wanted = ids.split(' ');
  const found = PROBES.filter(({ id }) => wanted.includes(id));
  expect(found).toHaveLength(wanted.length);
  return found;
};

interface Run {
  readonly probes: readonly Probe[];
  readonly tiers: readonly TierName[];
  readonly amend?: Amend;
}

const run = ({ probes, tiers, amend }: Run): Promise<readonly ProbeResult[]> =>
  runSuite({
    operator: operatorHome(),
    environment: readEnvironment(),
    tiers,
    runtime: 'runc',
    probes,
    initHome: (home) => init(contextOf(home)),
    onResult: () => undefined,
    signal: new AbortController().signal,
    amendContainers: amend,
  });

/** What differs in HostConfig. */
const host =
  (change: (now: NonNullable<CreateBody['HostConfig']>) => Partial<NonNullable<CreateBody['HostConfig']>>): Amend =>
  (body) => ({ ...body, HostConfig: { ...body.HostConfig, ...change(body.HostConfig ?? {}) } });

const mounts = (target: string, change: { readonly ReadOnly: boolean }): Amend =>
  host(({ Mounts = [] }) => ({ Mounts: Mounts.map((one) => (one.Target === target ? { ...one, ...change } : one)) }));

const extraMount = (sourceOf: (groupFolder: string) => string): Amend =>
  host(({ Mounts = [] }) => {
    const group = Mounts.find(({ Target }) => Target === '/workspace/group')?.Source ?? '';
    return {
      Mounts: [...Mounts, { Type: 'bind', Source: sourceOf(group), Target: '/workspace/more', ReadOnly: true }],
    };
  });

const securityWithout = (word: string, ...more: readonly string[]): Amend =>
  host(({ SecurityOpt = [] }) => ({
    SecurityOpt: [...SecurityOpt.filter((one: string) => !one.startsWith(word)), ...more],
  }));

const withoutUlimit = (name: string): Amend =>
  host(({ Ulimits = [] }) => ({ Ulimits: Ulimits.filter(({ Name }) => Name !== name) }));

const WEAKENED: readonly { readonly what: string; readonly amend: Amend; readonly red: string }[] = [
  { what: 'a capability added', amend: host(() => ({ CapAdd: ['NET_RAW'] })), red: 'capabilities' },
  {
    what: 'the tiles’ mount made writable',
    amend: mounts('/workspace/tiles', { ReadOnly: false }),
    red: 'tiles-write',
  },
  {
    what: 'the group’s mount made writable',
    amend: mounts('/workspace/group', { ReadOnly: false }),
    red: 'group-write',
  },
  {
    what: 'the bridge as its network',
    amend: host(() => ({ NetworkMode: 'bridge' })),
    red: 'network-tcp network-interfaces',
  },
  { what: 'root as its user', amend: (body) => ({ ...body, User: '0:0' }), red: 'root-user' },
  {
    what: 'no filter of system calls',
    amend: securityWithout('seccomp', 'seccomp=unconfined'),
    red: 'seccomp-filter io-uring',
  },
  { what: 'new privileges allowed', amend: securityWithout('no-new-privileges'), red: 'no-new-privileges' },
  {
    what: 'a writable root filesystem',
    amend: host(() => ({ ReadonlyRootfs: false })),
    red: 'root-filesystem other-writable-places',
  },
  { what: 'no limit on processes', amend: host(() => ({ PidsLimit: 0 })), red: 'fork-bomb' },
  { what: 'no limit on memory', amend: host(() => ({ Memory: 0, MemorySwap: 0 })), red: 'memory-limit' },
  { what: 'all cores', amend: host(() => ({ NanoCpus: 0 })), red: 'processor-share' },
  {
    what: 'another group’s folder mounted',
    amend: extraMount((own) => join(dirname(own), 'victim-of-untrusted')),
    red: 'other-group-files',
  },
  {
    what: 'root as its user and the home’s secrets mounted',
    amend: (body) => ({ ...extraMount((own) => join(dirname(own), '..'))(body), User: '0:0' }),
    red: 'secrets-files',
  },
  {
    what: 'the engine’s socket mounted',
    amend: host(({ Mounts = [] }) => ({
      Mounts: [...Mounts, { Type: 'bind', Source: '/var/run/docker.sock', Target: '/var/run/docker.sock' }],
    })),
    red: 'engine-sockets',
  },
  { what: 'a private IPC namespace', amend: host(() => ({ IpcMode: 'private' })), red: 'shared-memory' },
  {
    what: '/tmp without its flags',
    amend: host(({ Tmpfs }) => ({ Tmpfs: { ...Tmpfs, '/tmp': 'rw,exec,size=1g' } })),
    red: 'temporary-programs temporary-size temporary-files',
  },
  { what: 'no limit on open files', amend: withoutUlimit('nofile'), red: 'open-files' },
  { what: 'no limit on a file’s size', amend: withoutUlimit('fsize'), red: 'file-size' },
  { what: 'the host’s processes', amend: host(() => ({ PidMode: 'host', Init: false })), red: 'other-processes' },
  {
    what: 'a key in its environment',
    amend: (body) => ({ ...body, Env: [...(body.Env ?? []), `KEY=tc-canary-model-key-${'0'.repeat(24)}`] }),
    red: 'secrets-environment',
  },
];

describe('a container that is weaker than its plan', () => {
  it.each(WEAKENED)('turns the matrix red with $what', async ({ amend, red }) => {
    const results = await run({ probes: named(red), tiers: OUTSIDER_TIERS, amend });
    expect(results.map(({ id, verdict }) => `${id} ${verdict}`).toSorted()).toEqual(
      red
        .split(' ')
        .map((id) => `${id} breached`)
        .toSorted(),
    );
  });
});

/** Sixteen probes in three tiers: a good minute on a busy machine. */
const RUN_MS = 240_000;

/** One of every kind of control, and of every kind of turn. */
const SHORT =
  'capabilities root-user secrets-environment mount user-namespace other-processes root-filesystem database-bytes ' +
  'other-chats-rows network-tcp proxy-loopback gateway-other-provider gateway-forged-credentials fork-bomb left-behind host-git';

describe('a short run', () => {
  it(
    'holds in every tier, with controls that don’t, and leaves nothing behind',
    async () => {
      const results = await run({ probes: named(SHORT), tiers: EVERY_TIER });
      const wrong = results.filter(({ verdict }) => verdict === 'breached' || verdict === 'broken');
      expect(wrong).toEqual([]);
      expect(results).toHaveLength(SHORT.split(' ').length * EVERY_TIER.length);
      expect(results.filter(({ verdict, control }) => verdict === 'held' && control === 'held')).toEqual([]);
      const own = runPrefix(process.pid);
      expect((await readdir(tmpdir())).filter((name) => name.startsWith(own))).toEqual([]);
      const controls = await new Docker().listContainers({ all: true, filters: { label: [CONTROL_LABEL] } });
      expect(controls.filter(({ Labels }) => Labels[CONTROL_LABEL]?.includes(own))).toEqual([]);
    },
    RUN_MS,
  );

  it('is red where a control doesn’t get there either', async () => {
    const isInside = (probe: Probe): probe is InsideProbe => probe.kind === 'inside';
    const [filter, privileges] = named('seccomp-filter no-new-privileges')
      .filter(isInside)
      .toSorted((a, b) => b.id.localeCompare(a.id));
    if (filter === undefined || privileges === undefined) throw new Error('no such probes');
    const results = await run({
      probes: [
        // An engine's default container has a filter: it shows nothing.
        { ...filter, control: plainContainer },
        { ...privileges, control: { kind: 'naive', run: async () => held('even this stopped it') } },
      ],
      tiers: OUTSIDER_TIERS,
    });
    expect(results).toMatchObject([
      { id: 'seccomp-filter', verdict: 'broken', control: 'held' },
      {
        id: 'no-new-privileges',
        verdict: 'broken',
        control: 'held',
        reason: expect.stringContaining('even this stopped it'),
      },
    ]);
  });
});

describe('a run that was killed', () => {
  it('is cleaned up after by the next one', async () => {
    // No process has this number: the kernel’s own go up to 2^22.
    const left = await mkdtemp(join(tmpdir(), runPrefix(99_999_999)));
    await run({ probes: named('capabilities'), tiers: OUTSIDER_TIERS });
    await expect(stat(left)).rejects.toThrow('ENOENT');
  });
});

describe('the command', () => {
  const options = { runtime: 'runc', list: false } as const;

  it('answers with the matrix and exit status 0, as data in the promised form', async () => {
    const only = 'capabilities,trusted-memory,host-git';
    const result = await redteam(contextOf(operatorHome()), { ...options, only });
    expect(result.status).toBe(0);
    expect(result.text).toMatch(/^probe +main +trusted +untrusted +control$/m);
    expect(result.text).toMatch(/^capabilities +held +held +held +breached$/m);
    expect(result.text).toMatch(/^trusted-memory +– +– +held +breached$/m);
    expect(result.data).toMatchObject({
      probes: expect.arrayContaining([
        expect.objectContaining({
          id: 'capabilities',
          tier: 'main',
          runtime: 'runc',
          verdict: 'held',
          control: 'breached',
        }),
        expect.objectContaining({
          id: 'host-git',
          verdict: 'not-applicable',
          control: 'none',
          reason: expect.any(String),
        }),
      ]),
      summary: { ok: true, breached: 0, broken: 0 },
    });
  });

  it.each([
    { wrong: { ...options, runtime: 'runsc' }, message: /--runtime "runsc": what to expect is known for runc alone/ },
    { wrong: { ...options, tier: 'owner' }, message: /--tier "owner": a tier is one of main, trusted, untrusted/ },
    { wrong: { ...options, only: 'capabilities,nothing' }, message: /--only: there is no probe "nothing"/ },
  ])('refuses $wrong', async ({ wrong, message }) => {
    await expect(redteam(contextOf(operatorHome()), wrong)).rejects.toThrow(message);
  });

  it('lists every probe without an engine', async () => {
    const { text } = await redteam(contextOf(operatorHome()), { ...options, list: true });
    for (const { id } of PROBES) expect(text).toContain(`${id} (`);
  });
});
