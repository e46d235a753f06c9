/**
 * Sums the outcome of test runs into one line, `N passed, N failed, N skipped`, and exits 1 on any failure. Each
 * argument is `STATUS=FILE`: the exit status of a run, and either the JSON report that vitest wrote or (`*.log`) a log
 * that ends with such a line; or `STATUS=` for a check without either, which counts only when it failed.
 */
import { readFile } from 'node:fs/promises';

const NOTHING = { passed: 0, failed: 0, skipped: 0 };
const FAILURE = { ...NOTHING, failed: 1 };

const add = (a, b) => ({ passed: a.passed + b.passed, failed: a.failed + b.failed, skipped: a.skipped + b.skipped });

/** A file that couldn't be loaded fails without a failed test in it. */
const brokenFiles = (report) =>
  report.testResults.filter(
    ({ status, assertionResults }) =>
      status === 'failed' && !assertionResults.some((assertion) => assertion.status === 'failed'),
  ).length;

const fromReport = (text) => {
  const report = JSON.parse(text);
  return {
    passed: report.numPassedTests,
    failed: report.numFailedTests + brokenFiles(report),
    skipped: report.numPendingTests + report.numTodoTests,
  };
};

const fromLog = (text) => {
  const last = text.trimEnd().split('\n').at(-1);
  const [passed, failed, skipped] = last
    .match(/^(\d+) passed, (\d+) failed, (\d+) skipped$/)
    .slice(1)
    .map(Number);
  return { passed, failed, skipped };
};

const fromArgument = async (argument) => {
  const [status, file] = argument.split(/=(.*)/s);
  if (!file) return status === '0' ? NOTHING : FAILURE;
  const parse = file.endsWith('.log') ? fromLog : fromReport;
  // A run that left nothing to read broke down before it could count.
  const counts = await readFile(file, 'utf8')
    .then(parse)
    .catch(() => FAILURE);
  const nothingRan = counts.passed + counts.failed === 0;
  const unexplained = counts.failed === 0 && status !== '0';
  return nothingRan || unexplained ? add(counts, FAILURE) : counts;
};

const all = await Promise.all(process.argv.slice(2).map(fromArgument));
const { passed, failed, skipped } = all.reduce(add, NOTHING);
process.stdout.write(`${passed} passed, ${failed} failed, ${skipped} skipped\n`);
process.exitCode = failed > 0 || passed === 0 ? 1 : 0;
