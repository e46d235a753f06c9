/** The words that every command shares: how one is added to the table, and the options that may stand on each. */
import { type Command, InvalidArgumentError } from 'commander';
import type { CommandContext, CommandResult } from './context.ts';

/** A number is an exit status of a command that has printed what there was; null: printed, and all is well. */
export type Run = (context: CommandContext) => Promise<CommandResult | number | null>;

export type Choose = (command: Command, run: Run) => void;

export const LINES_MAX = 100_000;
export const RUNS_MAX = 10_000;
export const DAYS_MAX = 3660;

export const countUpTo =
  (what: string, most: number) =>
  (text: string): number => {
    const count = Number(text);
    if (Number.isInteger(count) && count >= 1 && count <= most) return count;
    throw new InvalidArgumentError(`a number of ${what} is 1–${most}.`);
  };

/** On every command, so that they may stand before or after it. */
export const withGlobals = (command: Command): Command =>
  command
    .option('--home <dir>', 'the home to work on (default: TIERCLAW_HOME, else the checkout)')
    .option('--json', 'print data instead of text');

export const verb = (parent: Command, words: string, summary: string): Command =>
  withGlobals(parent.command(words).description(summary));
