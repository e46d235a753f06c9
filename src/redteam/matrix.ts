/** The matrix of a run, and the list of the probes, as text. Pure. Evidence comes from containers: callers escape it. */
import type { TierName } from '../domain/tiers.ts';
import type { Probe } from './probe.ts';
import { type ProbeResult, summarise } from './verdict.ts';

const CELLS: Readonly<Record<ProbeResult['verdict'], string>> = {
  held: 'held',
  breached: 'BREACHED',
  broken: 'BROKEN',
  'not-applicable': '–',
};

const table = (rows: readonly (readonly string[])[]): string => {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd();
  return rows.map(line).join('\n');
};

/** One word for the probe: worst first. */
const controlCell = (results: readonly ProbeResult[]): string =>
  (['held', 'breached', 'none'] as const).find((verdict) => results.some(({ control }) => control === verdict)) ?? '';

const byProbe = (results: readonly ProbeResult[]): ReadonlyMap<string, readonly ProbeResult[]> => {
  const all = new Map<string, ProbeResult[]>();
  for (const result of results) all.set(result.id, [...(all.get(result.id) ?? []), result]);
  return all;
};

const matrix = (results: readonly ProbeResult[], tiers: readonly TierName[]): string => {
  const rows = [...byProbe(results)].map(([id, own]) => [
    id,
    ...tiers.map((tier) => {
      const result = own.find((one) => one.tier === tier);
      return result === undefined ? '' : CELLS[result.verdict];
    }),
    controlCell(own),
  ]);
  return table([['probe', ...tiers, 'control'], ...rows]);
};

const troubleLine = ({ id, tier, verdict, reason, controlEvidence }: ProbeResult): string =>
  `${CELLS[verdict]}  ${id} in ${tier}: ${reason}${controlEvidence === null ? '' : ` (control: ${controlEvidence})`}`;

/** Tiers with the same reason share a line. */
const notTriedLines = (results: readonly ProbeResult[]): readonly string[] => {
  const lines = new Map<string, TierName[]>();
  for (const { id, tier, verdict, reason } of results) {
    if (verdict !== 'not-applicable') continue;
    const line = `${id}: ${reason}`;
    lines.set(line, [...(lines.get(line) ?? []), tier]);
  }
  return [...lines].map(([line, tiers]) => `–  ${line} [${tiers.join(', ')}]`);
};

const sumLine = (results: readonly ProbeResult[], seconds: number): string => {
  const { probes, held, breached, broken, notApplicable } = summarise(results);
  return `${probes} probes in ${Math.round(seconds)} s: ${held} held, ${breached} breached, ${broken} broken, ${notApplicable} not applicable`;
};

/** The order of the probes' list, whatever order they ended in. */
export const sorted = (results: readonly ProbeResult[], probes: readonly Probe[]): readonly ProbeResult[] => {
  const place = new Map(probes.map(({ id }, at) => [id, at]));
  return results.toSorted((a, b) => (place.get(a.id) ?? 0) - (place.get(b.id) ?? 0));
};

export const renderRun = (results: readonly ProbeResult[], tiers: readonly TierName[], seconds: number): string => {
  const trouble = results.filter(({ verdict }) => verdict === 'breached' || verdict === 'broken').map(troubleLine);
  const parts = [
    matrix(results, tiers),
    notTriedLines(results).join('\n'),
    trouble.join('\n'),
    sumLine(results, seconds),
  ];
  return parts.filter((part) => part !== '').join('\n\n');
};

const describe = (probe: Probe): string => {
  const head = `${probe.id} (${probe.topic})\n  tries  ${probe.tries}\n  fails  ${probe.why}`;
  if (probe.kind === 'absent') return `${head}\n  where  nowhere yet: ${probe.reason}`;
  const where = Object.entries(probe.expected).map(([runtime, tiers]) => `${runtime}: ${tiers.join(', ')}`);
  const elsewhere = probe.elsewhere === undefined ? '' : `; elsewhere: ${probe.elsewhere}`;
  const { control } = probe;
  const shown = {
    container: () => (control.kind === 'container' ? `a container without hardening (${control.profile})` : ''),
    naive: () => 'what a careless host would do',
    none: () => (control.kind === 'none' ? `none: ${control.reason}` : ''),
  }[control.kind]();
  return `${head}\n  where  ${where.join('; ')}${elsewhere}\n  control  ${shown}`;
};

export const renderList = (probes: readonly Probe[]): string => probes.map(describe).join('\n\n');
