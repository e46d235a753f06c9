/** Plain columns for a terminal: aligned with spaces, no frame, the last column as long as it likes. Pure. */

const pad = (cell: string, width: number): string => cell + ' '.repeat(Math.max(0, width - [...cell].length));

/** Rows of cells, aligned; `indent` spaces before each line. Ends without a newline. */
export const renderTable = (rows: readonly (readonly string[])[], indent = 0): string => {
  const columns = Math.max(0, ...rows.map((row) => row.length));
  const widths = Array.from({ length: columns }, (_, at) =>
    Math.max(...rows.map((row) => [...(row[at] ?? '')].length)),
  );
  return rows
    .map((row) => ' '.repeat(indent) + row.map((cell, at) => pad(cell, widths[at] ?? 0)).join('  '))
    .map((line) => line.trimEnd())
    .join('\n');
};

const UNITS = [
  ['GB', 1024 ** 3],
  ['MB', 1024 ** 2],
  ['kB', 1024],
] as const;

/** 536870912 → `512 MB`; at most one decimal. */
export const formatBytes = (bytes: number): string => {
  const [unit, size] = UNITS.find(([, least]) => bytes >= least) ?? ['bytes', 1];
  return `${Number((bytes / size).toFixed(1))} ${unit}`;
};

/** 200000 → `200 000`. */
export const formatCount = (count: number): string => String(count).replace(/\B(?=(\d{3})+$)/g, ' ');

/** 90000 → `1 min 30 s`; below ten seconds with one decimal. */
export const formatDuration = (ms: number): string => {
  if (ms < 10_000) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  const parts = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor(seconds / 3600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'min'],
    [seconds % 60, 's'],
  ] as const;
  return parts
    .filter(([count]) => count > 0)
    .slice(0, 2)
    .map(([count, unit]) => `${count} ${unit}`)
    .join(' ');
};
