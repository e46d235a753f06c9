/** `tierclaw redteam`: tries to break out of real containers of every tier, in a scratch home on this machine. */
import { readEnvironment } from '../config.ts';
import { EVERY_TIER, TIER_NAMES, TierName } from '../domain/tiers.ts';
import { AppError, EXIT_STATUS } from '../errors.ts';
import { renderList, renderRun, sorted } from '../redteam/matrix.ts';
import { type Probe, RUNTIME_NAMES, type RuntimeName } from '../redteam/probe.ts';
import { PROBES } from '../redteam/probes/index.ts';
import { runSuite } from '../redteam/suite.ts';
import { type ProbeResult, summarise } from '../redteam/verdict.ts';
import type { CommandContext, CommandResult } from './context.ts';
import { isHomeMade } from './groups-find.ts';
import { init } from './init.ts';
import { terminalLine } from './terminal.ts';

export interface RedteamOptions {
  readonly tier?: string;
  readonly runtime: string;
  readonly only?: string;
  readonly list: boolean;
}

const SHOWN_CHARS_MAX = 60;
const LINE_CHARS_MAX = 700;

const usage = (message: string): AppError =>
  new AppError({ code: 'usage', message, hint: 'tierclaw redteam --help; the probes: tierclaw redteam --list' });

const shown = (value: string): string => `"${terminalLine(value, SHOWN_CHARS_MAX)}"`;

const tiersOf = ({ tier }: RedteamOptions): readonly TierName[] => {
  if (tier === undefined) return EVERY_TIER;
  const parsed = TierName.safeParse(tier);
  if (parsed.success) return [parsed.data];
  throw usage(`--tier ${shown(tier)}: a tier is one of ${TIER_NAMES.join(', ')}`);
};

const runtimeOf = ({ runtime }: RedteamOptions): RuntimeName => {
  const found = RUNTIME_NAMES.find((name) => name === runtime);
  if (found !== undefined) return found;
  throw usage(`--runtime ${shown(runtime)}: what to expect is known for ${RUNTIME_NAMES.join(', ')} alone`);
};

const probesOf = ({ only }: RedteamOptions): readonly Probe[] => {
  if (only === undefined) return PROBES;
  const ids = only.split(',').map((id) => id.trim());
  const unknown = ids.find((id) => !PROBES.some((probe) => probe.id === id));
  if (unknown !== undefined) throw usage(`--only: there is no probe ${shown(unknown)}`);
  return PROBES.filter(({ id }) => ids.includes(id));
};

const listed = (probes: readonly Probe[]): CommandResult => ({
  text: renderList(probes),
  data: {
    probes: probes.map((probe) => ({
      id: probe.id,
      topic: probe.topic,
      tries: probe.tries,
      why: probe.why,
      expected: probe.kind === 'absent' ? {} : probe.expected,
      elsewhere: probe.kind === 'absent' ? null : (probe.elsewhere ?? null),
      reason: probe.kind === 'absent' ? probe.reason : null,
    })),
  },
});

const progressLine = ({ id, tier, verdict, evidence, reason }: ProbeResult): string =>
  terminalLine(
    `${tier} ${id}: ${verdict}${(reason ?? evidence) === null ? '' : ` – ${reason ?? evidence}`}`,
    LINE_CHARS_MAX,
  );

/** What isn't tried is known beforehand, and stands in the matrix. */
const isNews = ({ verdict, evidence }: ProbeResult): boolean => verdict !== 'not-applicable' || evidence !== null;

/** Evidence is a container's text. */
const printable = (result: ProbeResult): ProbeResult => ({
  ...result,
  reason: result.reason === null ? null : terminalLine(result.reason, LINE_CHARS_MAX),
  controlEvidence: result.controlEvidence === null ? null : terminalLine(result.controlEvidence, LINE_CHARS_MAX),
});

/** Exit status 0 only where nothing is breached or broken. */
export const redteam = async (context: CommandContext, options: RedteamOptions): Promise<CommandResult> => {
  const { home, screen } = context;
  const [tiers, runtime, probes] = [tiersOf(options), runtimeOf(options), probesOf(options)];
  if (options.list) return listed(probes);
  if (!isHomeMade(home)) {
    throw new AppError({ code: 'not-found', message: `there is no home at ${home.dir}`, hint: 'tierclaw init' });
  }
  const startedMs = performance.now();
  const found = await runSuite({
    operator: home,
    environment: readEnvironment(),
    tiers,
    runtime,
    probes,
    initHome: (scratch) => init({ ...context, home: scratch }),
    onResult: (result) => (isNews(result) ? screen.err(`${progressLine(result)}\n`) : undefined),
    signal: context.interruption(),
  });
  const results = sorted(found, probes);
  const summary = summarise(results);
  return {
    text: renderRun(results.map(printable), tiers, (performance.now() - startedMs) / 1000),
    data: { probes: results, summary },
    status: summary.ok ? 0 : EXIT_STATUS.refused,
  };
};
