/**
 * The program that runs probes in a container: `node probes.mjs <id>,<id>…`, with `targets.json` beside it. Prints one
 * marked line of JSON per probe, in order, as each ends; nothing else is promised about its output.
 */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createKit } from '../kit.ts';
import type { Kit, Outcome } from '../probe.ts';
import { INSIDE_PROBES } from '../probes/inside.ts';
import { type Report, reportLine, Targets } from '../report-line.ts';

/** One that hangs must not keep the others from being heard. */
const ATTEMPT_MS = 20_000;

const deadline = (ms: number): Promise<never> =>
  new Promise((_resolve, reject) => {
    setTimeout(() => reject(new Error(`not over after ${ms / 1000} s`)), ms).unref();
  });

const reportOf = (outcome: Outcome): Report =>
  'missing' in outcome ? { missing: outcome.missing } : { reached: outcome.reached, evidence: outcome.evidence };

const attempt = async (id: string, kit: Kit): Promise<Report> => {
  const probe = INSIDE_PROBES.find((one) => one.id === id);
  if (probe === undefined) return { error: 'there is no such probe in this bundle' };
  try {
    // One that has a turn of its own may fill it.
    const ends = probe.ownTurn === true ? [] : [deadline(ATTEMPT_MS)];
    return reportOf(await Promise.race([probe.attempt(kit), ...ends]));
  } catch (thrown) {
    return { error: thrown instanceof Error ? thrown.message : String(thrown) };
  }
};

const main = async (ids: readonly string[]): Promise<void> => {
  const directory = dirname(fileURLToPath(import.meta.url));
  const targets = Targets.parse(JSON.parse(readFileSync(join(directory, 'targets.json'), 'utf8')));
  const kit = createKit(targets);
  for (const id of ids) process.stdout.write(`${reportLine(id, await attempt(id, kit))}\n`);
};

await main((process.argv[2] ?? '').split(','));
// A probe may have left a timer or a socket open.
process.exit(0);
