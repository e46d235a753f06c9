/**
 * One event as the body of a line: bounded, ASCII, without a control character, whatever its texts hold. Too long
 * texts are shortened, visibly; who and what is always there.
 */
import { SEAL_BYTES_MAX } from '../domain/audit-chain.ts';
import type { AuditKind } from '../domain/audit-kinds.ts';

/** One line, newline included. */
export const AUDIT_LINE_BYTES_MAX = 8192;
/** Tried in turn until the line fits, in UTF-16 units per text. */
const TEXT_CHARS = [2000, 400, 80] as const;
const KEY_CHARS = 100;

export type AuditValue = string | number | boolean | null | undefined;

export interface AuditEvent {
  readonly kind: AuditKind;
  readonly group?: string | undefined;
  readonly invocation?: string | undefined;
  readonly tier?: string | undefined;
  /** The trail's own. */
  readonly seq?: never;
  readonly at?: never;
  readonly prev?: never;
  readonly hash?: never;
  readonly [detail: string]: AuditValue;
}

const OWN: ReadonlySet<string> = new Set(['seq', 'at', 'prev', 'hash']);

const shorten = <T>(value: T, maxChars: number): T | string =>
  typeof value === 'string' && value.length > maxChars ? `${value.slice(0, maxChars)}…` : value;

/** JSON leaves all but controls as it is; a terminal or a viewer would obey some of it. */
const toAscii = (json: string): string =>
  json.replace(/[^\x20-\x7e]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);

const bodyOf = (event: AuditEvent, at: string, maxChars: number): string => {
  const { kind, ...details } = event;
  const fields = Object.entries(details)
    .filter(([key]) => !OWN.has(key))
    .map(([key, value]) => [shorten(key, KEY_CHARS), shorten(value, maxChars)]);
  return toAscii(JSON.stringify({ at, kind, ...Object.fromEntries(fields) }).slice(1, -1));
};

/** `at`: ISO 8601, UTC. An event with too many details says that it was cut. */
export const boundedBody = (event: AuditEvent, at: string): string => {
  for (const maxChars of TEXT_CHARS) {
    const body = bodyOf(event, at, maxChars);
    if (body.length + SEAL_BYTES_MAX < AUDIT_LINE_BYTES_MAX) return body;
  }
  const { kind, group, invocation, tier } = event;
  return bodyOf({ kind, group, invocation, tier, cut: true }, at, KEY_CHARS);
};
