/**
 * The audit trail: one JSON object per line, each sealed to the line before it. It is in the file when `record`
 * returns; one that allows something is on disk as well, before what it allows goes on. A trail that is broken or can't be written refuses every event,
 * and takes them again once it is mended; that it did is on record then.
 */

import { append, isFull, settleSoon, type Tail } from './audit/append.ts';
import { fingerprintOf, sha256, type TrailFiles, trailFiles } from './audit/files.ts';
import { type AuditEvent, boundedBody } from './audit/line.ts';
import { checkPlace, closeTail, type Opened, openTail, rotate } from './audit/tail.ts';
import { type Link, seal } from './domain/audit-chain.ts';
import { isTelling } from './domain/audit-kinds.ts';
import { AppError } from './errors.ts';

export { AUDIT_LINE_BYTES_MAX, type AuditEvent, type AuditValue } from './audit/line.ts';

export interface Audit {
  /** Throws AppError `audit` when it can't be written: what is not on record must not go on. */
  record(event: AuditEvent): void;
  /** Why nothing can be recorded now; null: all is well, as far as is known. */
  trouble(): string | null;
  /** Idempotent. */
  close(): void;
}

/** A file is closed, and the next one begun, before it grows beyond this. */
const ROTATE_BYTES = 16 * 1024 * 1024;
/** A line that only tells is on disk this long after it was written, with all that came meanwhile. */
const SETTLE_MS = 50;

/** Since when events are refused, how many were, and why. */
interface Trouble {
  readonly since: string;
  refused: number;
  why: AppError;
}

interface State {
  tail: Tail | null;
  /** The last line that this process has written. */
  known: Link | null;
  trouble: Trouble | null;
  /** What was found broken, and how the files looked then. */
  broken: { readonly fingerprint: string; readonly why: AppError } | null;
  /** Still to be recorded. */
  readonly notes: AuditEvent[];
  settling: NodeJS.Timeout | null;
  closed: boolean;
}

interface Context {
  readonly files: TrailFiles;
  readonly now: () => string;
  readonly rotateBytes: number;
  readonly state: State;
}

const troubleOf = (file: string, thrown: unknown): AppError => {
  if (thrown instanceof AppError && thrown.code === 'audit') return thrown;
  const why = thrown instanceof Error ? thrown.message : String(thrown);
  return new AppError({
    code: 'audit',
    message: `the audit trail ${file} can’t be written: ${why}`,
    hint: `check free space and permissions: df '${file}'; ls -ld '${file}'`,
    cause: thrown,
  });
};

/** A disk that refuses the last lines is trouble; whoever finds the trail next hears of it. */
const drop = ({ files, now, state }: Context): void => {
  const { tail } = state;
  state.tail = null;
  if (tail === null) return;
  try {
    closeTail(tail);
  } catch (thrown) {
    state.trouble ??= { since: now(), refused: 0, why: troubleOf(files.file, thrown) };
  }
};

const write = ({ files, rotateBytes, now, state }: Context, tail: Tail, event: AuditEvent): void => {
  const sealed = seal(tail.link, boundedBody(event, now()), sha256);
  if (isFull(tail, sealed, rotateBytes)) rotate(files, tail);
  append(tail, sealed, !isTelling(event.kind));
  state.known = tail.link;
};

/** Off the loop, and one for many lines. */
const settleLater = (context: Context): void => {
  const { files, state, now } = context;
  if (state.settling !== null) return;
  state.settling = setTimeout(() => {
    const { tail } = state;
    state.settling = null;
    if (tail === null) return;
    settleSoon(tail).catch((thrown: unknown) => {
      if (state.tail === tail) drop(context);
      state.trouble ??= { since: now(), refused: 0, why: troubleOf(files.file, thrown) };
    });
  }, SETTLE_MS).unref();
};

const notesOf = ({ adopted, torn }: Opened): AuditEvent[] => [
  ...(adopted === null ? [] : [{ kind: 'audit-adopted', ...adopted } as const]),
  ...(torn === null ? [] : [{ kind: 'audit-repaired', cutBytes: torn.bytes, cut: torn.text } as const]),
];

/** A broken trail is read again only when somebody has touched it: who asks may ask often. */
const openOnce = ({ files, state }: Context): Opened => {
  const fingerprint = fingerprintOf(files);
  if (state.broken?.fingerprint === fingerprint) throw state.broken.why;
  try {
    return openTail(files, state.known);
  } catch (thrown) {
    state.broken = thrown instanceof AppError ? { fingerprint: fingerprintOf(files), why: thrown } : null;
    throw thrown;
  }
};

/** The tail as it was left, or opened again. */
const readyTail = (context: Context): Tail => {
  const { files, state } = context;
  if (state.tail !== null) {
    checkPlace(files, state.tail);
    return state.tail;
  }
  const opened = openOnce(context);
  state.tail = opened.tail;
  state.notes.push(...notesOf(opened));
  return opened.tail;
};

/** What was found at the opening, and what was refused meanwhile, is on record before anything else is. */
const resume = (context: Context, tail: Tail): void => {
  const { notes } = context.state;
  for (let note = notes[0]; note !== undefined; note = notes[0]) {
    write(context, tail, note);
    notes.shift();
  }
  const { trouble } = context.state;
  if (trouble === null) return;
  const { since, refused, why } = trouble;
  write(context, tail, { kind: 'audit-resumed', since, refused, why: why.message });
  context.state.trouble = null;
};

/**
 * Runs `work` on the tail; whatever goes wrong is trouble. Where the file isn't what was left there, the tail is opened
 * anew by the next who needs it; where the disk is full, say, the next one just tries again.
 */
const attempt = (context: Context, work: (tail: Tail) => void): void => {
  const { files, state, now } = context;
  try {
    const tail = readyTail(context);
    resume(context, tail);
    work(tail);
  } catch (thrown) {
    if (thrown instanceof AppError) drop(context);
    const why = troubleOf(files.file, thrown);
    state.trouble = { since: state.trouble?.since ?? now(), refused: state.trouble?.refused ?? 0, why };
    throw why;
  }
};

const recordIn = (context: Context, event: AuditEvent): void => {
  const { files, state } = context;
  if (state.closed) throw new AppError({ code: 'audit', message: `the audit trail ${files.file} is closed` });
  try {
    attempt(context, (tail) => write(context, tail, event));
    if (isTelling(event.kind)) settleLater(context);
  } catch (thrown) {
    if (state.trouble !== null) state.trouble.refused += 1;
    throw thrown;
  }
};

/** Looks again where there was trouble; where there was none, whether the file still lies where it was left. */
const troubleIn = (context: Context): string | null => {
  if (context.state.closed) return null;
  try {
    attempt(context, () => {});
    return null;
  } catch (thrown) {
    return thrown instanceof Error ? thrown.message : String(thrown);
  }
};

/**
 * Opens (or makes) the trail whose current file is `file`; `clock` gives milliseconds since the epoch. Never throws: a
 * trail that can't be used says so by `trouble` and refuses every event.
 */
export const openAudit = (file: string, clock: () => number, rotateBytes = ROTATE_BYTES): Audit => {
  const now = (): string => new Date(clock()).toISOString();
  const state: State = {
    tail: null,
    known: null,
    trouble: null,
    broken: null,
    notes: [],
    settling: null,
    closed: false,
  };
  const context: Context = { files: trailFiles(file), now, rotateBytes, state };
  troubleIn(context);
  return {
    record: (event) => recordIn(context, event),
    trouble: () => troubleIn(context),
    close: () => {
      drop(context);
      state.closed = true;
    },
  };
};
