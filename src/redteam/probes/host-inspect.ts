/** The engine's own word about a running turn. */
import { z } from 'zod';
import { LABELS } from '../../domain/plan.ts';
import { EVERY_TIER } from '../../domain/tiers.ts';
import { attack, createJudge, judgeGround } from '../host/attack.ts';
import { type Arena, type HostProbe, noControl } from '../probe.ts';

const Inspected = z.looseObject({
  Config: z.looseObject({
    Env: z.array(z.string()),
    User: z.string(),
    Labels: z.record(z.string(), z.string()),
  }),
  HostConfig: z.looseObject({
    NetworkMode: z.string(),
    Privileged: z.boolean(),
    PidMode: z.string(),
    UsernsMode: z.string().nullish(),
    IpcMode: z.string(),
    CgroupnsMode: z.string().nullish(),
    CapAdd: z.array(z.string()).nullish(),
    CapDrop: z.array(z.string()).nullish(),
    SecurityOpt: z.array(z.string()).nullish(),
    Binds: z.array(z.string()).nullish(),
    Devices: z.array(z.unknown()).nullish(),
    PortBindings: z.record(z.string(), z.unknown()).nullish(),
  }),
  Mounts: z.array(z.looseObject({ Source: z.string().optional(), Destination: z.string(), RW: z.boolean() })),
});
type Inspected = z.infer<typeof Inspected>;

/** What no tier's container has, by what the engine says of it. */
const weaknesses = ({ Config, HostConfig }: Inspected): readonly string[] =>
  Object.entries({
    'runs as root': /^(0|root)?(:|$)/.test(Config.User),
    'is privileged': HostConfig.Privileged,
    'has a network': HostConfig.NetworkMode !== 'none',
    'shares the host’s processes': HostConfig.PidMode !== '',
    'shares the host’s IPC': HostConfig.IpcMode === 'host',
    'shares the host’s cgroups': HostConfig.CgroupnsMode === 'host',
    'has capabilities added': (HostConfig.CapAdd ?? []).length > 0,
    'keeps capabilities': !(HostConfig.CapDrop ?? []).includes('ALL'),
    'may gain privileges': !(HostConfig.SecurityOpt ?? []).some((option) => option.startsWith('no-new-privileges')),
    'has no seccomp profile': !(HostConfig.SecurityOpt ?? []).some((option) =>
      /^seccomp[=:](?!unconfined)/.test(option),
    ),
    'has devices': (HostConfig.Devices ?? []).length > 0,
    'publishes ports': Object.keys(HostConfig.PortBindings ?? {}).length > 0,
    'has binds, which make missing directories': (HostConfig.Binds ?? []).length > 0,
  }).flatMap(([what, isSo]) => (isSo ? [what] : []));

/** Directories of the home that hold everybody's, or the supervisor's own. */
const forbiddenSources = ({ home, victim }: Arena): readonly string[] => [
  home.dir,
  home.data,
  home.groups,
  home.agents,
  home.turns,
  home.ipc,
  home.sockets,
  home.quarantine,
  home.logs,
  home.published,
  `${home.groups}/${victim.folder}`,
  `${home.agents}/${victim.agent}`,
];

const isBad = (source: string, arena: Arena): boolean =>
  !source.startsWith(`${arena.home.dir}/`) || forbiddenSources(arena).includes(source) || /\.sock$/.test(source);

export const hostInspect: HostProbe = {
  kind: 'host',
  id: 'host-inspect',
  topic: 'secrets',
  tries:
    'to find secrets, or a door, in what the engine says of a running container: environment, labels, mounts, options',
  why: 'secrets stay in the supervisor; the plan names every mount and option, and the engine was given nothing else',
  expected: { runc: EVERY_TIER },
  control: noControl('the containers of the other controls have all of it, as anybody can see'),
  attempt: async (arena) => {
    const judge = createJudge();
    const running = arena.running(arena.attacker);
    const attacking = attack(arena, { script: 'time.sleep(3)\ntell("slept")' });
    const { container, invocation } = await running;
    const raw = await arena.inspect(container);
    const made = await attacking;
    judge.needs(made.acts.length === 1, `the turn: ${made.turn.reason}`);
    const text = JSON.stringify(raw);
    for (const [name, canary] of Object.entries(arena.canaries)) judge.breach(text.includes(canary), `it has ${name}`);
    const seen = Inspected.parse(raw);
    for (const weakness of weaknesses(seen)) judge.breach(true, `the container ${weakness}`);
    for (const { Source, Destination } of seen.Mounts)
      judge.breach(
        Source !== undefined && Source !== '' && isBad(Source, arena),
        `${Destination} is the host’s ${Source}`,
      );
    judge.breach(seen.Config.Labels[LABELS.invocation] !== invocation, 'its labels are not its own');
    await judgeGround(judge, arena, made);
    return judge.verdict(
      `${seen.Mounts.length} mounts, ${seen.Config.Env.length} variables, none of them a secret or a door`,
    );
  },
};
