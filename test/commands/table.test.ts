/** Tables and numbers as people read them. */
import { expect, test } from 'vitest';
import { formatBytes, formatCount, formatDuration, renderTable } from '../../src/commands/table.ts';

test('columns are aligned by characters, and lines end without spaces', () => {
  const table = renderTable([['a', 'bb', 'c'], ['ééé', '', '👍'], ['x']], 2);
  expect(table).toBe('  a    bb  c\n  ééé      👍\n  x');
});

test.each([
  [0, '0 bytes'],
  [1023, '1023 bytes'],
  [1536, '1.5 kB'],
  [512 * 1024 ** 2, '512 MB'],
  [1.25 * 1024 ** 3, '1.3 GB'],
])('%d bytes are %s', (bytes, text) => {
  expect(formatBytes(bytes)).toBe(text);
});

test.each([
  [0, '0'],
  [999, '999'],
  [1000, '1 000'],
  [2_000_000, '2 000 000'],
])('%d is written %s', (count, text) => {
  expect(formatCount(count)).toBe(text);
});

test.each([
  [0, '0.0 s'],
  [1_234, '1.2 s'],
  [59_999, '1 min'],
  [90_000, '1 min 30 s'],
  [3_600_000, '1 h'],
  [93_784_000, '1 d 2 h'],
])('%d ms are %s', (ms, text) => {
  expect(formatDuration(ms)).toBe(text);
});
