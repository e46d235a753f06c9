/**
 * Prints what the three groups answered as a table. Each argument is `GROUP=FILE`; a file holds the JSON that
 * `tierclaw chat --once --json` printed. Exits 1 when one of them holds no reply.
 */
import { readFile } from 'node:fs/promises';

const TIMINGS = ['queuedMs', 'stagedMs', 'startedMs', 'firstModelRequestMs', 'totalMs'];
const COLUMNS = ['group', 'queued', 'staged', 'started', '1st request', 'total'];

const milliseconds = (value) => (typeof value === 'number' ? `${Math.round(value)} ms` : '–');

const row = (cells, widths) => `  ${cells.map((cell, index) => cell.padEnd(widths[index])).join('  ')}`.trimEnd();

const table = (rows) => {
  const widths = COLUMNS.map((_, index) => Math.max(...rows.map((cells) => cells[index].length)));
  return rows.map((cells) => row(cells, widths)).join('\n');
};

const indent = (text) =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => `    ${line}`)
    .join('\n');

const read = async (argument) => {
  const [group, file] = argument.split(/=(.*)/s);
  const { reply, timings } = JSON.parse(await readFile(file, 'utf8'));
  if (typeof reply !== 'string' || reply.trim() === '') throw new Error(`${group} gave no reply`);
  return { group, reply, timings };
};

try {
  const answers = await Promise.all(process.argv.slice(2).map(read));
  const rows = answers.map(({ group, timings }) => [group, ...TIMINGS.map((name) => milliseconds(timings?.[name]))]);
  const replies = answers.map(({ group, reply }) => `  ${group}\n${indent(reply)}`);
  process.stdout.write(`\n${replies.join('\n\n')}\n\n${table([COLUMNS, ...rows])}\n`);
} catch (error) {
  process.stderr.write(`replies: ${error.message}\n`);
  process.exitCode = 1;
}
