/** The results as text: ratios and bars first, then the figures they come from, with the machine above. Pure. */
import { renderTable } from '../../src/commands/table.ts';
import type { Check, Result } from './bench.ts';
import type { Figure } from './statistics.ts';

export interface Report {
  /** What it ran on, one property each. */
  readonly machine: Readonly<Record<string, string>>;
  readonly results: readonly Result[];
}

/** Three digits that mean something: 0.0456, 4.56, 456, 45600. */
export const formatNumber = (value: number): string => {
  const digits = value === 0 ? 0 : Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
  return value.toFixed(Math.min(digits, 4));
};

const withUnit = (value: number, unit: Check['unit']): string => {
  if (unit === '×') return `${formatNumber(value)} ×`;
  return `${formatNumber(value)} ${unit}`;
};

const checkRow = ({ name }: Result, check: Check): string[] => [
  check.ok ? '✓' : '✗',
  withUnit(check.measured, check.unit),
  `≤ ${withUnit(check.bar, check.unit)}`,
  name,
  check.ok ? check.what : `${check.what}  — MISSED`,
];

const figureRow = ({ name, unit, median, least, most, runs }: Figure): string[] => [
  name,
  withUnit(median, unit),
  `${formatNumber(least)} … ${formatNumber(most)}`,
  String(runs),
];

const renderResult = (result: Result): string =>
  [
    `${result.name}: ${result.title}`,
    renderTable([['', 'median', 'least … most', 'runs'], ...result.figures.map(figureRow)], 2),
    ...result.notes.map((note) => `  ${note}`),
  ].join('\n');

/** Ends without a newline. */
export const renderReport = ({ machine, results }: Report): string => {
  const rows = results.flatMap((result) => result.checks.map((check) => checkRow(result, check)));
  const missed = results.flatMap(({ checks }) => checks).filter(({ ok }) => !ok).length;
  return [
    renderTable([['', 'measured', 'bar', 'bench', 'what'], ...rows]),
    missed === 0 ? `all ${rows.length} bars held` : `${missed} of ${rows.length} bars MISSED`,
    ...results.map(renderResult),
    `machine\n${renderTable(Object.entries(machine), 2)}`,
  ].join('\n\n');
};
