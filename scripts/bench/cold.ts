/**
 * From a message's acceptance to the first model request of a container that didn't exist before, against `docker run
 * --rm` of the same image with the same flags running `node -e 0`, and against the same through the engine's API.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type Docker from 'dockerode';
import type { ContainerCreateOptions } from 'dockerode';
import { execa } from 'execa';
import { ulid } from 'ulid';
import { loadConfig } from '../../src/config.ts';
import { InvocationId } from '../../src/domain/ids.ts';
import { containerSpec } from '../../src/domain/spec.ts';
import { TIER_NAMES, type TierName } from '../../src/domain/tiers.ts';
import type { Home } from '../../src/home.ts';
import { builtImage, exampleGroup, planFor } from '../../src/planning.ts';
import { createOptions } from '../../src/runtimes/docker-create.ts';
import { type Installation, install } from '../../test/integration/installation.ts';
import { type Bench, type BenchOptions, type Check, ratioAtMost } from './bench.ts';
import { dockerRunArguments, seccompProfile } from './docker-run.ts';
import { type Figure, figure, interleave, ratio, timed } from './statistics.ts';

const RATIO_BAR = 1.25;
const NOTHING = ['node', '-e', '0'] as const;
/** The groups that a fresh home has, by tier. */
const FOLDERS: readonly string[] = ['main', 'friends', 'lobby'];
/** The widest and the narrowest: they differ most in what is staged and in what the engine has to set up. */
const MEASURED: readonly TierName[] = TIER_NAMES.filter((_, at) => at === 0 || at === TIER_NAMES.length - 1);

/** A container of that tier without a turn: what the engine is told, and the same for the command line. */
interface Baseline {
  readonly options: ContainerCreateOptions;
  readonly runArguments: readonly string[];
}

/** The sources must exist; what is in them makes no difference to an engine that mounts them. */
const makeBaseline = async (home: Home, tier: TierName): Promise<Baseline> => {
  const invocation = InvocationId.parse(ulid());
  const context = { home, config: await loadConfig(home), image: builtImage(home) };
  const spec = containerSpec(planFor(context, exampleGroup(tier), invocation));
  for (const { source } of spec.mounts) await mkdir(source, { recursive: true });
  const options = createOptions({ ...spec, command: NOTHING, labels: {} });
  const seccompFile = join(home.data, `seccomp-${invocation}.json`);
  await writeFile(seccompFile, seccompProfile(options) ?? '{}');
  return { options, runArguments: [...dockerRunArguments(options, seccompFile), ...NOTHING] };
};

/** What the two containers' settings differ in, by the engine's own account; nothing: the comparison is fair. */
const differences = async (docker: Docker, { options, runArguments }: Baseline): Promise<string[]> => {
  const container = await docker.createContainer(options);
  const { stdout } = await execa('docker', ['create', ...runArguments]);
  const other = docker.getContainer(stdout.trim());
  const [ours, theirs] = [(await container.inspect()).HostConfig, (await other.inspect()).HostConfig];
  await Promise.all([container.remove(), other.remove()]);
  const theirValues = new Map<string, unknown>(Object.entries(theirs));
  return Object.entries(ours)
    .filter(([key, value]) => canonical(value) !== canonical(theirValues.get(key)))
    .map(([key, value]) => `${key}: ${JSON.stringify(value)} and ${JSON.stringify(theirValues.get(key))}`);
};

/** Nothing, an empty list and a default of nothing are the same to the engine; so is the order of a list. */
const canonical = (value: unknown): string => {
  const text = JSON.stringify(Array.isArray(value) ? value.map(canonical).sort() : (value ?? null));
  return ['[]', '{}', '""', '0', '-1', 'false', ...RESTART_NEVER].includes(text) ? 'null' : text;
};

/** The command line writes out what the API leaves empty. */
const RESTART_NEVER = ['', 'no'].map((Name) => JSON.stringify({ Name, MaximumRetryCount: 0 }));

const dockerRun = async ({ runArguments }: Baseline): Promise<number> => {
  const { ms } = await timed(() => execa('docker', ['run', '--rm', ...runArguments], { stdin: 'ignore' }));
  return ms;
};

interface ApiRun {
  readonly createMs: number;
  readonly startMs: number;
  readonly exitMs: number;
  readonly removeMs: number;
}

const apiRun = async (docker: Docker, { options }: Baseline): Promise<ApiRun> => {
  const { ms: createMs, value: container } = await timed(() => docker.createContainer(options));
  const exited = container.wait({ condition: 'next-exit' });
  const { ms: startMs } = await timed(() => container.start());
  const { ms: exitMs } = await timed(() => exited);
  const { ms: removeMs } = await timed(() => container.remove());
  return { createMs, startMs, exitMs, removeMs };
};

const untilGone = async ({ containers }: Installation): Promise<void> => {
  while ((await containers()).length > 0) await delay(50);
};

/** Milliseconds from one point of a turn to the next, and to its first model request. */
interface TurnRun {
  readonly queuedMs: number;
  readonly stagedMs: number;
  readonly startedMs: number;
  readonly requestMs: number;
  readonly firstMs: number;
}

const point = (name: string, value: number | null): number => {
  if (value === null) throw new Error(`the turn has no ${name}`);
  return value;
};

const turnRun = async (installation: Installation, folder: string): Promise<TurnRun> => {
  const { done } = await installation.say(folder, 'hello');
  if (done.reason !== 'completed') throw new Error(`the turn ended as ${done.reason}: ${done.detail}`);
  await untilGone(installation);
  const queued = point('queuedMs', done.timings.queuedMs);
  const staged = point('stagedMs', done.timings.stagedMs);
  const started = point('startedMs', done.timings.startedMs);
  const first = point('firstModelRequestMs', done.timings.firstModelRequestMs);
  return {
    queuedMs: queued,
    stagedMs: staged - queued,
    startedMs: started - staged,
    requestMs: first - started,
    firstMs: first,
  };
};

interface Measured {
  readonly tier: TierName;
  readonly differences: readonly string[];
  readonly turns: TurnRun[];
  readonly runs: number[];
  readonly api: ApiRun[];
}

const measureTier = async (
  installation: Installation,
  tier: TierName,
  { runs, tell }: BenchOptions,
): Promise<Measured> => {
  const { home, docker } = installation;
  const folder = FOLDERS[TIER_NAMES.indexOf(tier)] ?? tier;
  const baseline = await makeBaseline(home, tier);
  const measured: Measured = { tier, differences: await differences(docker, baseline), turns: [], runs: [], api: [] };
  await turnRun(installation, folder);
  await dockerRun(baseline);
  tell(`${tier}: ${runs} turns, as many bare containers`);
  await interleave(runs, [
    async () => void measured.turns.push(await turnRun(installation, folder)),
    async () => void measured.runs.push(await dockerRun(baseline)),
    async () => void measured.api.push(await apiRun(docker, baseline)),
  ]);
  return measured;
};

const TURN_PARTS = [
  ['queuedMs', 'accepted → dispatched'],
  ['stagedMs', '→ staged: directories, socket, inbox'],
  ['startedMs', '→ started: create, attach, start'],
  ['requestMs', '→ first model request: node, runner, init'],
] as const;

const API_PARTS = [
  ['createMs', 'create'],
  ['startMs', 'start'],
  ['exitMs', 'node -e 0, exit'],
  ['removeMs', 'remove'],
] as const;

const apiTotal = ({ createMs, startMs, exitMs, removeMs }: ApiRun): number => createMs + startMs + exitMs + removeMs;

interface Reported {
  readonly check: Check;
  readonly figures: readonly Figure[];
  readonly notes: readonly string[];
}

const reportOf = ({ tier, turns, runs, api, differences: found }: Measured): Reported => {
  const first = figure(
    `${tier}: first model request`,
    'ms',
    turns.map(({ firstMs }) => firstMs),
  );
  const run = figure(`${tier}: docker run --rm … node -e 0`, 'ms', runs);
  const bare = figure(`${tier}: the same through the API`, 'ms', api.map(apiTotal));
  const turnParts = TURN_PARTS.map(([key, name]) =>
    figure(
      `    ${name}`,
      'ms',
      turns.map((turn) => turn[key]),
    ),
  );
  const apiParts = API_PARTS.map(([key, name]) =>
    figure(
      `    ${name}`,
      'ms',
      api.map((one) => one[key]),
    ),
  );
  const flags = found.length === 0 ? 'settings of both containers are equal by inspect' : `differ: ${found.join('; ')}`;
  return {
    check: ratioAtMost(first, run, RATIO_BAR),
    figures: [first, ...turnParts, run, bare, ...apiParts],
    notes: [`${tier}: ${ratio(first, bare).toFixed(2)} × the same through the API; ${flags}`],
  };
};

const measureAll = async (installation: Installation, options: BenchOptions): ReturnType<Bench['measure']> => {
  const reports: Reported[] = [];
  for (const tier of MEASURED) reports.push(reportOf(await measureTier(installation, tier, options)));
  return {
    checks: reports.map(({ check }) => check),
    figures: reports.flatMap(({ figures }) => figures),
    notes: [
      ...reports.flatMap(({ notes }) => notes),
      'bare containers: flags from the same create options; their exit and removal are in the figure, as `--rm` has them',
    ],
  };
};

const measure: Bench['measure'] = async (options) => {
  const installation = await install();
  try {
    return await measureAll(installation, options);
  } finally {
    await installation.close();
  }
};

export const cold: Bench = {
  name: 'cold',
  title: 'message accepted → first model request leaves a cold container, against docker run of the same image',
  measure,
};
