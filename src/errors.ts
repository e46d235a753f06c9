/**
 * The one error type that is thrown, and the table of its codes.
 * Expected refusals inside the program are values (`Decision`), not errors.
 */

/** code → exit status of the command line (0 ok, 1 our bug; the table is printed by `tierclaw --help`). */
export const EXIT_STATUS = {
  internal: 1,
  usage: 2,
  config: 3,
  'not-found': 4,
  conflict: 5,
  refused: 6,
  engine: 7,
  image: 7,
  'not-running': 8,
  provider: 9,
  timeout: 10,
  'turn-failed': 11,
  audit: 12,
} as const satisfies Record<string, number>;

export type ErrorCode = keyof typeof EXIT_STATUS;

export interface ErrorDetails {
  readonly code: ErrorCode;
  /** Names the thing, what was found and what is allowed. */
  readonly message: string;
  /** The next command to run or the next thing to do. */
  readonly hint?: string | undefined;
  readonly cause?: unknown;
}

export class AppError extends Error {
  readonly code: ErrorCode;
  readonly hint: string | undefined;

  constructor(details: ErrorDetails) {
    super(details.message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = 'AppError';
    this.code = details.code;
    this.hint = details.hint;
  }
}

/** Wraps whatever was thrown; an AppError passes unchanged. */
export const toAppError = (thrown: unknown): AppError =>
  thrown instanceof AppError
    ? thrown
    : new AppError({
        code: 'internal',
        message: thrown instanceof Error ? thrown.message : String(thrown),
        cause: thrown,
      });

/** True for a Node system error with that code, e.g. `isErrno(e, 'ENOENT')`. */
export const isErrno = (thrown: unknown, code: string): boolean =>
  thrown instanceof Error && 'code' in thrown && thrown.code === code;
