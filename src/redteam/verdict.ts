/** From what was found to what it means. Pure. Nothing counts as held that its control has not shown to be possible. */
import type { TierName } from '../domain/tiers.ts';
import type { Probe, RuntimeName } from './probe.ts';
import type { Report } from './report-line.ts';

export type Verdict = 'held' | 'breached' | 'not-applicable' | 'broken';
export type ControlVerdict = 'breached' | 'held' | 'none';

export interface ProbeResult {
  readonly id: string;
  readonly tier: TierName;
  readonly runtime: RuntimeName;
  readonly verdict: Verdict;
  readonly control: ControlVerdict;
  /** What was seen in the tier; null: nothing was tried there. */
  readonly evidence: string | null;
  readonly controlEvidence: string | null;
  /** Why it is not held; null where it is. */
  readonly reason: string | null;
}

export interface Place {
  readonly id: string;
  readonly tier: TierName;
  readonly runtime: RuntimeName;
}

/** `null`: there is no control, on purpose. */
export type ControlReport = Report | null;

const controlVerdict = (control: ControlReport): ControlVerdict => {
  if (control === null || !('reached' in control)) return 'none';
  return control.reached ? 'breached' : 'held';
};

const textOf = (report: ControlReport): string | null => {
  if (report === null) return null;
  if ('reached' in report) return report.evidence;
  return 'missing' in report ? report.missing : report.error;
};

/** Why an attempt that found nothing proves nothing; null: it does. */
const emptiness = (control: ControlReport): { verdict: 'broken' | 'not-applicable'; reason: string } | null => {
  if (control === null) return null;
  if ('missing' in control) return { verdict: 'not-applicable', reason: `not on this machine: ${control.missing}` };
  if ('error' in control) return { verdict: 'broken', reason: `its control failed: ${control.error}` };
  if (control.reached) return null;
  return { verdict: 'broken', reason: `its control did not get there either: ${control.evidence}` };
};

/** What the attempt and its control mean together. */
export const judge = (place: Place, seen: Report, control: ControlReport): ProbeResult => {
  const both = {
    ...place,
    control: controlVerdict(control),
    evidence: textOf(seen),
    controlEvidence: textOf(control),
  };
  if ('error' in seen) return { ...both, verdict: 'broken', reason: `the attempt failed: ${seen.error}` };
  if ('reached' in seen && seen.reached) return { ...both, verdict: 'breached', reason: seen.evidence };
  const empty = emptiness(control);
  if (empty !== null) return { ...both, ...empty };
  return { ...both, verdict: 'held', reason: null };
};

/** Why a probe is not tried in a tier; null: it is. */
export const whyNot = (probe: Probe, tier: TierName, runtime: RuntimeName): string | null => {
  if (probe.kind === 'absent') return probe.reason;
  if (probe.expected[runtime].includes(tier)) return null;
  return probe.elsewhere ?? 'nothing is promised here';
};

export const notTried = (place: Place, reason: string): ProbeResult => ({
  ...place,
  verdict: 'not-applicable',
  control: 'none',
  evidence: null,
  controlEvidence: null,
  reason,
});

export interface Summary {
  readonly held: number;
  readonly breached: number;
  readonly broken: number;
  readonly notApplicable: number;
  /** Distinct probes, those not built among them. */
  readonly probes: number;
  /** Nothing is breached or broken. */
  readonly ok: boolean;
}

export const summarise = (results: readonly ProbeResult[]): Summary => {
  const count = (verdict: Verdict): number => results.filter((result) => result.verdict === verdict).length;
  const [breached, broken] = [count('breached'), count('broken')];
  return {
    held: count('held'),
    breached,
    broken,
    notApplicable: count('not-applicable'),
    probes: new Set(results.map(({ id }) => id)).size,
    ok: breached === 0 && broken === 0,
  };
};
