/**
 * Egress in the audit trail: `egress-open` before a connection is made, `egress` with everything once it is over or
 * refused. What can't be recorded isn't dialled. Refusals beyond a number are counted, so that a flood fills no disk.
 */
import type { Logger } from 'pino';
import type { Audit } from '../audit.ts';
import type { AuditKind } from '../domain/audit-kinds.ts';
import type { GatewayGrant } from './gateway.ts';

export interface Attempt {
  readonly how: 'tunnel' | 'http';
  /** As asked for, at most a name's length of it. */
  readonly host: string;
  readonly port: number | null;
}

export interface Course {
  /** `allowed`: there was a connection; `failed`: there was none to be had. */
  readonly verdict: 'allowed' | 'refused' | 'failed';
  readonly reason: string | null;
  readonly address: string | null;
  /** Bytes to the host and from it. */
  readonly up: number;
  readonly down: number;
  readonly ms: number;
}

export interface EgressRecord {
  /** Throws AppError where the trail can't be written; then nothing may be dialled. */
  opening(attempt: Attempt, address: string): void;
  /** Never throws. */
  over(attempt: Attempt, course: Course): void;
  /** The refusals that have no line of their own. Never throws. */
  close(): void;
}

const REFUSALS_RECORDED = 100;

export interface RecordParts {
  readonly audit: Pick<Audit, 'record'>;
  readonly logger: Logger;
  readonly grant: Pick<GatewayGrant, 'group' | 'invocation' | 'tier'>;
}

export const createEgressRecord = ({ audit, logger, grant }: RecordParts): EgressRecord => {
  const { group, invocation, tier } = grant;
  const who = { group, invocation, tier };
  const state = { refusals: 0 };
  const record = (kind: AuditKind, details: Readonly<Record<string, string | number | null>>): void => {
    try {
      audit.record({ kind, ...who, ...details });
    } catch (err) {
      // What it tells of is over; the next connection's own line decides whether there is one.
      logger.error({ err, invocation }, 'the end of a connection could not be put on record');
    }
  };
  return {
    opening: (attempt, address) => audit.record({ kind: 'egress-open', ...who, ...attempt, address }),
    over: (attempt, course) => {
      if (course.verdict === 'refused') state.refusals += 1;
      if (course.verdict === 'refused' && state.refusals > REFUSALS_RECORDED) return;
      record('egress', { ...attempt, ...course });
    },
    close: () => {
      const more = state.refusals - REFUSALS_RECORDED;
      if (more > 0) record('egress-refusals', { verdict: 'refused', more });
    },
  };
};
