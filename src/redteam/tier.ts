/** All probes of one tier, one turn after another, in the order of the list; the destructive ones after the others. */
import { EVERY_TIER } from '../domain/tiers.ts';
import type { OpenArena } from './arena.ts';
import type { Control, HostProbe, InsideProbe, Outcome, Probe } from './probe.ts';
import type { Report } from './report-line.ts';
import { PROBES_PER_TURN, runAlone, runTogether, withoutLag } from './turns.ts';
import { type ControlReport, judge, notTried, type Place, type ProbeResult, whyNot } from './verdict.ts';

/** What the controls in containers have found, by probe; they run beside the tiers. */
export type Controls = Promise<ReadonlyMap<string, Report>>;

export interface TierRun {
  readonly arena: OpenArena;
  readonly probes: readonly Probe[];
  readonly controls: Controls;
  readonly onResult: (result: ProbeResult) => void;
}

const reportOf = async (act: () => Promise<Outcome>): Promise<Report> => {
  try {
    const outcome = await act();
    return 'missing' in outcome ? { missing: outcome.missing } : { ...outcome };
  } catch (thrown) {
    return { error: thrown instanceof Error ? thrown.message : String(thrown) };
  }
};

const controlOf = async ({ arena, controls }: TierRun, id: string, control: Control): Promise<ControlReport> => {
  if (control.kind === 'none') return null;
  if (control.kind === 'naive') return reportOf(() => control.run(arena));
  return (await controls).get(id) ?? { error: 'it was not run' };
};

const batches = <T>(all: readonly T[], size: number): readonly (readonly T[])[] =>
  Array.from({ length: Math.ceil(all.length / size) }, (_, at) => all.slice(at * size, (at + 1) * size));

const conclude = async (run: TierRun, probe: InsideProbe | HostProbe, seen: Report): Promise<ProbeResult> => {
  const { tier, runtime } = run.arena;
  const place: Place = { id: probe.id, tier, runtime };
  const result = judge(place, seen, await controlOf(run, probe.id, probe.control));
  run.onResult(result);
  return result;
};

const runHost = (arena: OpenArena, probe: HostProbe): Promise<Report> =>
  withoutLag(arena, async () => {
    await arena.begin();
    return reportOf(() => probe.attempt(arena));
  });

const runInside = (arena: OpenArena, probe: InsideProbe): Promise<Report> =>
  runAlone(arena, probe).catch((thrown: unknown) => ({ error: String(thrown) }));

/** Results as they will be; a container's control may still be running, one on the host is done before this goes on. */
const createConclusions = (run: TierRun) => {
  const pending: Promise<ProbeResult>[] = [];
  return {
    add: async (probe: InsideProbe | HostProbe, seen: Report): Promise<void> => {
      const conclusion = conclude(run, probe, seen);
      pending.push(conclusion);
      // Heard by `all`, or not at all where the run ends before it.
      conclusion.catch(() => undefined);
      if (probe.control.kind !== 'container') await conclusion;
    },
    all: () => Promise.all(pending),
  };
};

type Conclusions = ReturnType<typeof createConclusions>;

const tryShared = async (
  { arena }: TierRun,
  conclusions: Conclusions,
  probes: readonly InsideProbe[],
): Promise<void> => {
  for (const batch of batches(probes, PROBES_PER_TURN)) {
    arena.signal.throwIfAborted();
    const reports = await runTogether(arena, batch);
    for (const probe of batch) await conclusions.add(probe, reports.get(probe.id) ?? { error: 'it was not tried' });
  }
};

const trySingle = async (
  { arena }: TierRun,
  conclusions: Conclusions,
  probes: readonly (InsideProbe | HostProbe)[],
): Promise<void> => {
  for (const probe of probes) {
    arena.signal.throwIfAborted();
    const seen = probe.kind === 'host' ? await runHost(arena, probe) : await runInside(arena, probe);
    await conclusions.add(probe, seen);
  }
};

const rotated = <T>(all: readonly T[], by: number): readonly T[] => [...all.slice(by), ...all.slice(0, by)];

/** Each tier begins elsewhere: while one waits for a deadline, another has work for the machine. */
const tryAll = async (run: TierRun, probes: readonly (InsideProbe | HostProbe)[]): Promise<ProbeResult[]> => {
  const conclusions = createConclusions(run);
  const inside = probes.filter((probe) => probe.kind === 'inside');
  const [alone, shared] = [inside.filter(({ ownTurn }) => ownTurn), inside.filter(({ ownTurn }) => !ownTurn)];
  const phases = [
    () => tryShared(run, conclusions, shared),
    () =>
      trySingle(
        run,
        conclusions,
        alone.filter(({ last }) => !last),
      ),
    () =>
      trySingle(
        run,
        conclusions,
        probes.filter((probe) => probe.kind === 'host'),
      ),
  ];
  for (const phase of rotated(phases, EVERY_TIER.indexOf(run.arena.tier))) await phase();
  await trySingle(
    run,
    conclusions,
    alone.filter(({ last }) => last),
  );
  return conclusions.all();
};

/** One result per probe. */
export const runTier = async (run: TierRun): Promise<readonly ProbeResult[]> => {
  const { tier, runtime } = run.arena;
  const skipped: ProbeResult[] = [];
  const tried: (InsideProbe | HostProbe)[] = [];
  for (const probe of run.probes) {
    const reason = whyNot(probe, tier, runtime);
    if (reason === null && probe.kind !== 'absent') tried.push(probe);
    else skipped.push(notTried({ id: probe.id, tier, runtime }, reason ?? ''));
  }
  for (const result of skipped) run.onResult(result);
  return [...(await tryAll(run, tried)), ...skipped];
};
