/** What every command is given and what it gives back; a command never touches `process` itself. */
import type { Readable, Writable } from 'node:stream';
import type { Home } from '../home.ts';

export interface Screen {
  /** What was asked for. */
  out(text: string): void;
  /** Progress and remarks. */
  err(text: string): void;
  readonly input: Readable;
  /** What `out` writes to, for a line editor. */
  readonly output: Writable;
  /** True where a person types and reads: both input and output are terminals. */
  readonly isInteractive: boolean;
  /** True where what `err` writes is read by a person as it comes. */
  readonly showsProgress: boolean;
}

export interface CommandContext {
  readonly home: Home;
  /** As `--home` had it, where it was given: what hints have to repeat. */
  readonly homeOption?: string | undefined;
  readonly json: boolean;
  readonly screen: Screen;
  /** From this call on the first Ctrl-C (or TERM) aborts this signal instead of ending the process. */
  interruption(): AbortSignal;
}

/** Printed by the caller: `data` with --json, else `text`. */
export interface CommandResult {
  readonly text: string;
  readonly data: unknown;
  /** An exit status other than 0 that goes with a result (a turn that failed has both). */
  readonly status?: number;
}
