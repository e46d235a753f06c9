/** Every kind of event that the audit trail knows: a typo doesn't compile, and `tierclaw audit list --kind` names them. */

export const AUDIT_KINDS = [
  // Turns. No turn starts that isn't on record.
  'turn-started',
  // What a container asked for.
  'request-refused',
  'file-sent',
  'instructions-refused',
  // Files in its inbox that are no acceptable request.
  'ipc-name',
  'ipc-missing',
  'ipc-link',
  'ipc-not-a-directory',
  'ipc-directory',
  'ipc-special',
  'ipc-hard-link',
  'ipc-too-large',
  'ipc-changed',
  'ipc-exists',
  'ipc-not-empty',
  'ipc-denied',
  'ipc-not-utf8',
  'ipc-not-json',
  'ipc-not-a-request',
  'ipc-invalid-request',
  'ipc-duplicate',
  'ipc-too-many',
  'ipc-left-over',
  'ipc-answer',
  'ipc-stuck',
  'ipc-flood',
  // The network and what is in it.
  'egress',
  'egress-open',
  'egress-refusals',
  'credential-open',
  'credential-used',
  'credential-given',
  'credential-refused',
  'secrets-reloaded',
  'secrets-refused',
  // Disk.
  'quota-exceeded',
  'floor-reached',
  'gc',
  // The operator.
  'group-registered',
  'dead-replayed',
  'dead-dropped',
  'database-restore',
  'image-recorded',
  // The trail about itself.
  'audit-adopted',
  'audit-repaired',
  'audit-resumed',
  'audit-acknowledged',
] as const;

export type AuditKind = (typeof AUDIT_KINDS)[number];

const TELLS: ReadonlySet<AuditKind> = new Set<AuditKind>([
  'request-refused',
  'instructions-refused',
  'egress',
  'egress-refusals',
  'credential-used',
  'credential-refused',
  'quota-exceeded',
]);

/**
 * Tells of what was refused or is over: nothing waits for it to be on disk. A container can bring about many of these
 * in a moment, and each wait for a busy disk would hold all chats.
 */
export const isTelling = (kind: AuditKind): boolean => kind.startsWith('ipc-') || TELLS.has(kind);

/** What the command line does to a home, whether or not a supervisor runs. */
export const OPERATOR_KINDS = [
  'group-registered',
  'dead-replayed',
  'dead-dropped',
  'image-recorded',
  'gc',
] as const satisfies readonly AuditKind[];
