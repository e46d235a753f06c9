/**
 * The negative control: the same attempts in a container of the same image as a careless host would run it, where they
 * must succeed. Its containers carry a label of their own and are gone when this returns, whatever happens.
 */
import { cp, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { AgentAlias } from '../domain/ids.ts';
import { agentWorkspace } from '../home.ts';
import { packageRoot } from '../package-root.ts';
import type { Engine } from '../runtimes/engine.ts';
import { everyPrivilege, UNLOCK } from './control-privileges.ts';
import { layOut } from './lay-out.ts';
import { CONTROL_LABEL } from './leftovers.ts';
import type { ControlProfile, Targets } from './probe.ts';
import { type Report, readReports } from './report-line.ts';
import type { Scratch } from './scratch.ts';

export interface ControlOptions {
  readonly engine: Engine;
  readonly image: string;
  readonly scratch: Scratch;
  readonly targets: Targets;
  readonly bundle: string;
  readonly signal: AbortSignal;
}

/** Longer than the longest batch by far. */
const CONTROL_MS = 90_000;

const bindsOf = ({ engine, scratch }: ControlOptions): string[] => {
  const { home, controlDirectory } = scratch;
  return [
    `${engine.socketPath}:/var/run/docker.sock`,
    `${join(controlDirectory, 'group')}:/workspace/group`,
    `${join(controlDirectory, 'store')}:/workspace/store`,
    `${join(controlDirectory, 'ipc')}:/workspace/ipc`,
    `${home.global}:/workspace/global`,
    `${home.trusted}:/workspace/trusted`,
    `${home.groups}:/workspace/groups`,
    `${agentWorkspace(home, AgentAlias.parse('victim'))}:/workspace/agents/victim`,
    `${join(controlDirectory, 'tiles')}:/workspace/tiles`,
    `${agentWorkspace(home, AgentAlias.parse('default'))}:/workspace/agent`,
    `${home.data}:/workspace/project/data:ro`,
    `${home.envFile}:/workspace/project/.env`,
    `${join(controlDirectory, 'socket')}:/run/tierclaw`,
  ];
};

/** A secret on the command line, as careless hosts have them. */
const programOf = ({ scratch }: ControlOptions, ids: readonly string[]): readonly string[] => [
  'node',
  '/workspace/group/redteam/probes.mjs',
  ids.join(','),
  scratch.canaries['env-secret'],
];

const bodyOf = (options: ControlOptions, ids: readonly string[], profile: ControlProfile) => ({
  Image: options.image,
  Entrypoint: [],
  Cmd: [
    'bash',
    '-c',
    `{\n${profile === 'plain' ? ':' : UNLOCK}\n} 2>/dev/null\nexec "$@"`,
    'bash',
    ...programOf(options, ids),
  ],
  User: '0:0',
  Env: [`MODEL_KEY=${options.scratch.canaries['model-key']}`],
  Labels: { [CONTROL_LABEL]: options.scratch.home.dir },
  WorkingDir: '/workspace/group',
  HostConfig: {
    Binds: bindsOf(options),
    NetworkMode: profile === 'host' ? 'host' : 'bridge',
    ...(profile === 'host' ? {} : { Dns: [options.targets.hostAddress] }),
    ...(profile === 'plain' ? {} : everyPrivilege()),
    ...(profile === 'host' ? { PidMode: 'host' } : {}),
  },
});

/** Before the first control. */
export const prepareControls = async ({ scratch, bundle, targets }: ControlOptions): Promise<void> => {
  const { controlDirectory } = scratch;
  for (const part of ['messages', 'input', 'tasks'])
    await mkdir(join(controlDirectory, 'ipc', part), { recursive: true });
  await mkdir(join(controlDirectory, 'socket'), { recursive: true });
  await cp(join(packageRoot(), 'tiles'), join(controlDirectory, 'tiles'), { recursive: true });
  await layOut(join(controlDirectory, 'group'), bundle, targets);
};

const everyReport = (ids: readonly string[], report: Report): ReadonlyMap<string, Report> =>
  new Map(ids.map((id) => [id, report]));

/** What the container said; one that said nothing of a probe counts as a failed control. */
const runContainer = async (
  options: ControlOptions,
  ids: readonly string[],
  profile: ControlProfile,
): Promise<ReadonlyMap<string, Report>> => {
  const { patient } = options.engine;
  const container = await patient.createContainer(bodyOf(options, ids, profile));
  try {
    await container.start();
    const deadline = AbortSignal.any([options.signal, AbortSignal.timeout(CONTROL_MS)]);
    await container.wait({ abortSignal: deadline }).catch(() => undefined);
    const output = await container.logs({ stdout: true, stderr: true, follow: false });
    const silent = everyReport(ids, { error: 'its container ended without a word of it' });
    return new Map([...silent, ...readReports(output.toString('utf8'))]);
  } finally {
    await container.remove({ force: true, v: true });
  }
};

/** Never rejects for what a container did; an engine that fails is every probe's failed control. */
export const runControl = async (
  options: ControlOptions,
  ids: readonly string[],
  profile: ControlProfile,
): Promise<ReadonlyMap<string, Report>> => {
  if (ids.length === 0) return new Map();
  try {
    return await runContainer(options, ids, profile);
  } catch (thrown) {
    return everyReport(ids, { error: thrown instanceof Error ? thrown.message : String(thrown) });
  }
};
