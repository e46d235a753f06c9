/**
 * Entry of the benches: `npm run bench -- [--json] [--only NAME] [--runs N]`. What is compared is measured side by side
 * in one run. A missed bar is marked and doesn't change the exit status; a bench that fails does.
 */
import process from 'node:process';
import { parseArgs } from 'node:util';
import { auditLine } from './audit.ts';
import type { Bench, BenchOptions, Result } from './bench.ts';
import { cold } from './cold.ts';
import { egress } from './egress.ts';
import { EGRESS_ROLES, serveEgressRole } from './egress-processes.ts';
import { filteredCopy } from './filtered-copy.ts';
import { gateway } from './gateway.ts';
import { GATEWAY_ROLES, serveRole } from './gateway-processes.ts';
import { idle } from './idle.ts';
import { ipc } from './ipc.ts';
import { serveWriter, WRITER_ROLE } from './ipc-writer.ts';
import { describeMachine } from './machine.ts';
import { renderReport } from './report.ts';

const BENCHES: readonly Bench[] = [cold, filteredCopy, gateway, ipc, idle, auditLine, egress];
const RUNS = 12;
const EXIT_USAGE = 2;

interface Request {
  readonly benches: readonly Bench[];
  readonly runs: number;
  readonly json: boolean;
}

const USAGE = `npm run bench -- [--json] [--only ${BENCHES.map(({ name }) => name).join('|')}]… [--runs N]`;

/** What is asked for, or what is wrong with it. */
const readArguments = (args: readonly string[]): Request | string => {
  const { values } = parseArgs({
    args: [...args],
    options: {
      json: { type: 'boolean', default: false },
      only: { type: 'string', multiple: true, default: [] },
      runs: { type: 'string', default: String(RUNS) },
    },
  });
  const unknown = values.only.find((name) => BENCHES.every((bench) => bench.name !== name));
  if (unknown !== undefined) return `there is no bench "${unknown}"`;
  const runs = Number(values.runs);
  if (!Number.isInteger(runs) || runs < 1) return `--runs takes a whole number above 0, not "${values.runs}"`;
  const benches = BENCHES.filter(({ name }) => values.only.length === 0 || values.only.includes(name));
  return { benches, runs, json: values.json };
};

const tellFor =
  (name: string): BenchOptions['tell'] =>
  (line) =>
    void process.stderr.write(`bench: ${name}: ${line}\n`);

const runAll = async ({ benches, runs }: Request): Promise<Result[]> => {
  const results: Result[] = [];
  for (const { name, title, measure } of benches) {
    const tell = tellFor(name);
    tell(title);
    results.push({ name, title, ...(await measure({ runs, tell })) });
  }
  return results;
};

const runBenches = async (args: readonly string[]): Promise<void> => {
  const request = readArguments(args);
  if (typeof request === 'string') {
    process.stderr.write(`bench: ${request}\nusage: ${USAGE}\n`);
    process.exitCode = EXIT_USAGE;
    return;
  }
  const results = await runAll(request);
  const report = { machine: await describeMachine(), results };
  process.stdout.write(`${request.json ? JSON.stringify(report, null, 2) : renderReport(report)}\n`);
};

/** Some benches start this program again, as the other side of what they measure. */
const main = async ([role, ...args]: readonly string[]): Promise<void> => {
  const part = GATEWAY_ROLES.find((one) => one === role);
  if (part !== undefined) return serveRole(part, args);
  const way = EGRESS_ROLES.find((one) => one === role);
  if (way !== undefined) return serveEgressRole(way, args);
  if (role === WRITER_ROLE) return serveWriter(args);
  return runBenches(role === undefined ? [] : [role, ...args]);
};

try {
  await main(process.argv.slice(2));
} catch (thrown) {
  process.stderr.write(`bench: ${thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown)}\n`);
  process.exitCode = 1;
}
