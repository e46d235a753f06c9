/** The command line as a process: parse the words, run the command, print its result, set the exit status. */

import type { CommandContext, CommandResult, Screen } from './commands/context.ts';
import { hintFor } from './commands/hints.ts';
import { parseCommandLine } from './commands/index.ts';
import { terminalText } from './commands/terminal.ts';
import { readEnvironment } from './config.ts';
import { type AppError, EXIT_STATUS, toAppError } from './errors.ts';
import { homeAt } from './home.ts';
import { packageRoot } from './package-root.ts';

const screen: Screen = {
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  input: process.stdin,
  output: process.stdout,
  isInteractive: process.stdin.isTTY === true && process.stdout.isTTY === true,
  showsProgress: process.stderr.isTTY === true,
};

const interruption = (): AbortSignal => {
  const controller = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => controller.abort());
  return controller.signal;
};

const printResult = ({ json }: CommandContext, result: CommandResult | number | null): number => {
  if (result === null) return 0;
  if (typeof result === 'number') return result;
  screen.out(`${json ? JSON.stringify(result.data, null, 2) : result.text}\n`);
  return result.status ?? 0;
};

const printError = (error: AppError, json: boolean, homeOption: string | undefined): number => {
  const { code, message, stack } = error;
  const hint = error.hint === undefined ? undefined : hintFor(error.hint, homeOption);
  if (json) screen.out(`${JSON.stringify({ error: { code, message, hint } })}\n`);
  else screen.err(terminalText(`error: ${message}\n${hint === undefined ? '' : `hint: ${hint}\n`}`));
  // Only a bug of ours is worth a stack to anybody.
  if (code === 'internal') screen.err(`${terminalText(stack ?? '')}\n`);
  return EXIT_STATUS[code];
};

const main = async (words: readonly string[]): Promise<number> => {
  // Known before parsing, so that a command line that can't be parsed is answered in the form it asked for.
  let json = words.includes('--json');
  let homeOption: string | undefined;
  try {
    const parsed = await parseCommandLine(words);
    if (parsed.kind === 'text') {
      (parsed.status === 0 ? screen.out : screen.err)(parsed.text);
      return parsed.status;
    }
    json = parsed.json;
    homeOption = parsed.homeDir;
    const home = homeAt(parsed.homeDir ?? readEnvironment().home ?? packageRoot());
    const context: CommandContext = { home, homeOption, json, screen, interruption };
    return printResult(context, await parsed.run(context));
  } catch (thrown) {
    return printError(toAppError(thrown), json, homeOption);
  }
};

// A reader that has seen enough (`| head`) is no error.
process.stdout.on('error', () => process.exit(0));
process.exitCode = await main(process.argv.slice(2));
