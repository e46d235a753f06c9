/** `tierclaw doctor`: what is wrong with this home, its machine and its engine, each with how to mend it. */
import { readEnvironment } from '../config.ts';
import { AppError, EXIT_STATUS } from '../errors.ts';
import { examine } from '../examine.ts';
import type { Home } from '../home.ts';
import { CHECKS } from '../ops/checks/index.ts';
import { type CheckResult, runChecks, type SupervisorSeen } from '../ops/doctor.ts';
import { controlClient } from './client.ts';
import type { CommandContext, CommandResult } from './context.ts';
import { hintFor } from './hints.ts';
import { terminalLine } from './terminal.ts';

const SYMBOLS = { ok: '✓', warn: '!', fail: '✗' } as const;
/** Long enough for a path and a provider's sentence. */
const LINE_CHARS_MAX = 500;

const askSupervisor = async (home: Home): Promise<SupervisorSeen | null> => {
  try {
    return await controlClient(home).status();
  } catch (thrown) {
    if (thrown instanceof AppError && thrown.code === 'not-running') return null;
    throw thrown;
  }
};

const line = (result: CheckResult, width: number): string => {
  const head = `${SYMBOLS[result.status]} ${result.title.padEnd(width)}  ${terminalLine(result.found, LINE_CHARS_MAX)}`;
  if (result.hint === null) return head;
  return `${head}\n${' '.repeat(width + 2)}  → ${terminalLine(result.hint, LINE_CHARS_MAX)}`;
};

const counted = (results: readonly CheckResult[], status: CheckResult['status']): number =>
  results.filter((result) => result.status === status).length;

export const renderResults = (results: readonly CheckResult[]): string => {
  const width = Math.max(...results.map(({ title }) => title.length));
  const [fine, known, broken] = (['ok', 'warn', 'fail'] as const).map((status) => counted(results, status));
  const sum = `${results.length} checks: ${fine} good, ${known} to be known, ${broken} to be mended`;
  return `${results.map((result) => line(result, width)).join('\n')}\n\n${sum}`;
};

/** Exit status `config` where a check has failed; warnings alone are 0. */
export const doctor = async ({ home, homeOption }: CommandContext): Promise<CommandResult> => {
  const environment = readEnvironment();
  const examined = await examine({ home, environment, supervisor: () => askSupervisor(home) });
  const results = (await runChecks(CHECKS, examined)).map((result) => ({
    ...result,
    hint: result.hint === null ? null : hintFor(result.hint, homeOption),
  }));
  const ok = counted(results, 'fail') === 0;
  return { text: renderResults(results), data: { checks: results, ok }, status: ok ? 0 : EXIT_STATUS.config };
};
