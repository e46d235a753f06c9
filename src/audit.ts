/**
 * The audit trail: one JSON object per line, appended synchronously, so that an event is on record before what it
 * allows goes on. Every line is bounded and holds no control character; the file is the supervisor's alone (0600).
 */
import { closeSync, constants, fchmodSync, fstatSync, mkdirSync, openSync, readSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { AppError } from './errors.ts';

const { O_APPEND, O_CREAT, O_NOFOLLOW, O_RDWR } = constants;

/** One line, newline included. */
export const AUDIT_LINE_BYTES_MAX = 8192;
/** Tried in turn until the line fits, in UTF-16 units per text. */
const TEXT_CHARS = [2000, 400, 80] as const;

export type AuditValue = string | number | boolean | null | undefined;

export interface AuditEvent {
  /** What happened, e.g. `request-refused`. */
  readonly kind: string;
  readonly group?: string | undefined;
  readonly invocation?: string | undefined;
  readonly tier?: string | undefined;
  readonly [detail: string]: AuditValue;
}

export interface Audit {
  /** Throws AppError `internal` when it can't be written: what is not on record must not go on. */
  record(event: AuditEvent): void;
  /** Idempotent. */
  close(): void;
}

const shorten = <T>(value: T, maxChars: number): T | string =>
  typeof value === 'string' && value.length > maxChars ? `${value.slice(0, maxChars)}…` : value;

/** JSON leaves DEL, C1, line separators and direction marks as they are; a terminal or a viewer would obey them. */
const escapeLine = (json: string): string =>
  json.replace(
    /[\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

const lineOf = (event: AuditEvent, at: string, maxChars: number): string => {
  const fields = Object.entries(event)
    .filter(([key]) => key !== 'at')
    .map(([key, value]) => [shorten(key, 100), shorten(value, maxChars)]);
  return `${escapeLine(JSON.stringify({ at, ...Object.fromEntries(fields) }))}\n`;
};

const fits = (line: string): boolean => Buffer.byteLength(line) <= AUDIT_LINE_BYTES_MAX;

/** The longest form that fits; an event with too many details keeps who and what, and says that it was cut. */
const boundedLine = (event: AuditEvent, at: string): string => {
  for (const maxChars of TEXT_CHARS) {
    const line = lineOf(event, at, maxChars);
    if (fits(line)) return line;
  }
  const { kind, group, invocation, tier } = event;
  return lineOf({ kind, group, invocation, tier, cut: true }, at, 100);
};

const writeAll = (descriptor: number, line: string): void => {
  const bytes = Buffer.from(line);
  let written = 0;
  while (written < bytes.length) written += writeSync(descriptor, bytes, written);
};

/** A process that died while writing left half a line; the next event begins a line of its own. */
const endTornLine = (descriptor: number): void => {
  const { size } = fstatSync(descriptor);
  if (size === 0) return;
  const last = Buffer.alloc(1);
  readSync(descriptor, last, 0, 1, size - 1);
  if (last[0] !== 0x0a) writeAll(descriptor, '\n');
};

const openFile = (file: string): number => {
  mkdirSync(dirname(file), { recursive: true });
  const descriptor = openSync(file, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW, 0o600);
  fchmodSync(descriptor, 0o600);
  endTornLine(descriptor);
  return descriptor;
};

/** Opens (or makes) the trail. `clock` gives milliseconds since the epoch. Throws when the file can't be used. */
export const openAudit = (file: string, clock: () => number): Audit => {
  let descriptor: number | undefined = openFile(file);
  const failed = (what: string, cause?: unknown): AppError =>
    new AppError({
      code: 'internal',
      message: `the audit trail ${file} ${what}`,
      hint: `check free space and permissions: df '${file}'`,
      cause,
    });
  return {
    record: (event) => {
      if (descriptor === undefined) throw failed('is closed');
      const line = boundedLine(event, new Date(clock()).toISOString());
      try {
        writeAll(descriptor, line);
      } catch (thrown) {
        throw failed('could not be written', thrown);
      }
    },
    close: () => {
      if (descriptor !== undefined) closeSync(descriptor);
      descriptor = undefined;
    },
  };
};
