/** The audit trail, without secrets: an exit of its own, because nothing of it passes the logger. */
import type { Audit, AuditEvent } from '../audit.ts';

type Redact = (text: string) => string;

/** The trail, with every detail redacted before it is written. */
export const redactAudit = (audit: Audit, redact: Redact): Audit => {
  const clean = ({ kind, ...details }: AuditEvent): AuditEvent => {
    const fields = Object.entries(details).map(([name, value]) => [
      redact(name),
      typeof value === 'string' ? redact(value) : value,
    ]);
    return { kind, ...Object.fromEntries(fields) };
  };
  return { ...audit, record: (event) => audit.record(clean(event)) };
};
