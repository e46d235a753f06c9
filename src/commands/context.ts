/** What every command is given and what it gives back; a command never touches `process` itself. */
import type { Readable } from 'node:stream';
import type { Home } from '../home.ts';

export interface Screen {
  /** What was asked for. */
  out(text: string): void;
  /** Progress and remarks. */
  err(text: string): void;
  readonly input: Readable;
  /** True where a person types and reads: both input and output are terminals. */
  readonly isInteractive: boolean;
  /** True where what `err` writes is read by a person as it comes. */
  readonly showsProgress: boolean;
}

export interface CommandContext {
  readonly home: Home;
  readonly json: boolean;
  readonly screen: Screen;
  /** Aborted by Ctrl-C and by TERM. */
  readonly signal: AbortSignal;
}

/** Printed by the caller: `data` with --json, else `text`. */
export interface CommandResult {
  readonly text: string;
  readonly data: unknown;
  /** An exit status other than 0 that goes with a result (a turn that failed has both). */
  readonly status?: number;
}
