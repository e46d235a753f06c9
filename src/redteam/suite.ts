/**
 * A whole run: a scratch home with a supervisor of its own, every tier's probes in real turns, the controls beside
 * them. What was made is gone at the end, whatever happened.
 */
import { join } from 'node:path';
import { openApp } from '../app.ts';
import { type Environment, loadConfig } from '../config.ts';
import type { TierName } from '../domain/tiers.ts';
import { AppError, toAppError } from '../errors.ts';
import type { Home } from '../home.ts';
import { groupDirectory } from '../home.ts';
import { packageRoot } from '../package-root.ts';
import { builtImage } from '../planning.ts';
import type { Amend } from '../runtimes/docker.ts';
import { engineSocket, openEngine } from '../runtimes/engine.ts';
import { type Grounds, openArena, targetsOf } from './arena.ts';
import { type ControlOptions, prepareControls, runControl } from './control.ts';
import { hostAddressOf } from './host-address.ts';
import { startLagMeter } from './lag.ts';
import { layOut } from './lay-out.ts';
import { removeLeftovers } from './leftovers.ts';
import { CONTROL_PROFILES, type ControlProfile, type InsideProbe, type Probe, type RuntimeName } from './probe.ts';
import type { Report } from './report-line.ts';
import { makeScratch } from './scratch.ts';
import { type Controls, runTier } from './tier.ts';
import type { ProbeResult } from './verdict.ts';
import { startWitness } from './witness.ts';

export interface SuiteOptions {
  /** Whose image, engine and uid are used; nothing in it is changed. */
  readonly operator: Home;
  readonly environment: Environment;
  readonly tiers: readonly TierName[];
  readonly runtime: RuntimeName;
  readonly probes: readonly Probe[];
  readonly initHome: (home: Home) => Promise<unknown>;
  readonly onResult: (result: ProbeResult) => void;
  readonly signal: AbortSignal;
  /** Weakens the containers of the turns, to see that it is noticed. */
  readonly amendContainers?: Amend | undefined;
}

type Closer = () => unknown;

const closeAll = async (closers: readonly Closer[]): Promise<void> => {
  for (const close of [...closers].reverse()) await close();
};

const isTried = ({ tiers, runtime }: SuiteOptions, probe: InsideProbe): boolean =>
  probe.expected[runtime].some((tier) => tiers.includes(tier));

/** Those that share a container first, then each of the others in one of its own, one after another. */
const runControls = async (options: SuiteOptions, control: ControlOptions): Promise<ReadonlyMap<string, Report>> => {
  const probes = options.probes.filter((probe) => probe.kind === 'inside').filter((probe) => isTried(options, probe));
  const reports = new Map<string, Report>();
  const run = async (some: readonly InsideProbe[], profile: ControlProfile): Promise<void> => {
    const ids = some.filter(({ control }) => control.kind === 'container' && control.profile === profile);
    for (const [id, report] of await runControl(
      control,
      ids.map(({ id }) => id),
      profile,
    ))
      reports.set(id, report);
  };
  await prepareControls(control);
  const [shared, alone] = [probes.filter(({ ownTurn }) => !ownTurn), probes.filter(({ ownTurn }) => ownTurn)];
  for (const profile of CONTROL_PROFILES) await run(shared, profile);
  for (const probe of alone) for (const profile of CONTROL_PROFILES) await run([probe], profile);
  return reports;
};

const imageOf = (operator: Home): string => {
  const image = builtImage(operator);
  if (!image.endsWith(':not-built')) return image;
  throw new AppError({
    code: 'image',
    message: `the home ${operator.dir} has no agent image, and the probes run in it`,
    hint: `tierclaw --home ${operator.dir} image build`,
  });
};

/** Everything that a run stands on, opened in order; `closers` hold what is open even when this throws. */
const openGrounds = async (options: SuiteOptions, closers: Closer[]) => {
  const { operator, environment, runtime, signal } = options;
  const config = await loadConfig(operator);
  const image = imageOf(operator);
  const socketPath = engineSocket({ socketPath: config.runtime.docker.socket, dockerHost: environment.dockerHost });
  const engine = openEngine(socketPath);
  closers.push(() => engine.close());
  const hostAddress = await hostAddressOf(engine);
  await removeLeftovers(engine);
  const witness = await startWitness(hostAddress);
  closers.push(() => witness.close());
  const scratch = await makeScratch({ operator, config, witness, initHome: options.initHome });
  closers.push(() => scratch.close());
  const app = await openApp({
    homeDir: scratch.home.dir,
    environment: { ...environment, logLevel: environment.logLevel ?? 'silent' },
    amendContainers: options.amendContainers,
  });
  closers.push(() => app.close());
  await app.start();
  const lag = startLagMeter();
  closers.push(() => lag.close());
  const grounds: Grounds = { app, engine, scratch, witness, lag, runtime, signal };
  return { grounds, image, hostAddress };
};

const probesBundle = (): string => join(packageRoot(), 'dist', 'probes.mjs');

const runOn = async (
  options: SuiteOptions,
  { grounds, image, hostAddress }: Awaited<ReturnType<typeof openGrounds>>,
): Promise<readonly ProbeResult[]> => {
  const { scratch, witness, engine, signal } = grounds;
  const bundle = probesBundle();
  const targetsFor = (tier: TierName) => targetsOf(scratch, witness, { hostAddress, tier });
  const [first] = options.tiers;
  if (first === undefined) return [];
  const control: ControlOptions = { engine, image, scratch, targets: targetsFor(first), bundle, signal };
  const controls: Controls = runControls(options, control);
  const tiers = options.tiers.map(async (tier) => {
    const targets = targetsFor(tier);
    const arena = openArena(grounds, tier, targets);
    await layOut(groupDirectory(scratch.home, arena.attacker.folder), bundle, targets);
    try {
      return await runTier({ arena, probes: options.probes, controls, onResult: options.onResult });
    } finally {
      await arena.close();
    }
  });
  const settled = await Promise.allSettled([...tiers, controls.then(() => [])]);
  for (const one of settled) if (one.status === 'rejected') throw toAppError(one.reason);
  return settled.flatMap((one) => (one.status === 'fulfilled' ? one.value : []));
};

/** Throws AppError where no run can be made: no image, no engine, a broken home; `refused` where it was interrupted. */
export const runSuite = async (options: SuiteOptions): Promise<readonly ProbeResult[]> => {
  const closers: Closer[] = [];
  try {
    return await runOn(options, await openGrounds(options, closers));
  } catch (thrown) {
    if (!options.signal.aborted) throw thrown;
    throw new AppError({ code: 'refused', message: 'interrupted; the scratch home is gone', cause: thrown });
  } finally {
    await closeAll(closers);
  }
};
