/**
 * The log: pino's JSON lines, whose context comes from `withLogContext` and never by hand. Invariant: no line reaches
 * its destination without having passed the redaction by value.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { type DestinationStream, type Logger, pino, stdTimeFunctions } from 'pino';

/** Whose line it is. Set once where a turn begins; every line written meanwhile carries it. */
export interface LogContext {
  readonly group?: string;
  readonly tier?: string;
  readonly agent?: string;
  readonly invocation?: string;
  readonly session?: string;
  readonly channel?: string;
}

const contexts = new AsyncLocalStorage<LogContext>();

/** Runs `work` with these fields in each of its log lines, in addition to those already set around it. */
export const withLogContext = <T>(context: LogContext, work: () => T): T =>
  contexts.run({ ...contexts.getStore(), ...context }, work);

export interface LoggerOptions {
  /** A pino level; lines below it are dropped. */
  readonly level: string;
  /** In every line. */
  readonly home: string;
  /** Takes secrets' values out of a serialized line. */
  readonly redact: (line: string) => string;
  /** Default: stdout, synchronously, so that the last line before a crash is there. */
  readonly destination?: DestinationStream;
}

export const createLogger = (options: LoggerOptions): Logger => {
  const target = options.destination ?? pino.destination({ dest: 1, sync: true });
  const redacting: DestinationStream = { write: (line) => target.write(options.redact(line)) };
  return pino(
    {
      level: options.level,
      base: { pid: process.pid, home: options.home },
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      mixin: () => ({ ...contexts.getStore() }),
      // A field of a logged object must not be able to pose as the context.
      mixinMergeStrategy: (logged, context) => ({ ...logged, ...context }),
    },
    redacting,
  );
};

// Controls, format characters (bidi overrides among them), lone surrogates and line separators.
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

const escapeCodePoint = (character: string): string => {
  if (character === '\n') return '\\n';
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
};

/**
 * Text from a container or a chat as a log line may carry it: one line, no control or invisible characters, at most
 * `maxChars` UTF-16 units of the original; what was left out is counted.
 */
export const forLog = (text: string, maxChars: number): string => {
  const kept = text.slice(0, maxChars).replace(INVISIBLE, escapeCodePoint);
  return text.length > maxChars ? `${kept}… (+${text.length - maxChars})` : kept;
};
