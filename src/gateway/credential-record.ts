/**
 * Uses of credentials in the audit trail: `credential-open` before a request goes out, `credential-used` once it is
 * over. What can't be recorded isn't sent. Refusals beyond a number are counted, so that a flood fills no disk.
 */
import type { Logger } from 'pino';
import type { Audit } from '../audit.ts';
import type { CredentialForward } from './credential-rules.ts';
import type { GatewayGrant } from './gateway.ts';

export interface CredentialCourse {
  /** Of the API's answer; 0: there was none. */
  readonly status: number;
  /** Bytes to the API and from it. */
  readonly up: number;
  readonly down: number;
  readonly ms: number;
  /** Why it ended before its end; null: it didn't. */
  readonly broken: string | null;
}

export interface CredentialRecord {
  /** Throws AppError where the trail can't be written; then nothing may be sent. */
  opening(forward: CredentialForward): void;
  /** Never throws. */
  used(forward: CredentialForward, course: CredentialCourse): void;
  /** `target`: as it was asked for. Never throws. */
  refused(target: string, status: number, reason: string): void;
  /** The refusals that have no line of their own. Never throws. */
  close(): void;
}

export interface CredentialRecordParts {
  readonly audit: Pick<Audit, 'record'>;
  readonly logger: Logger;
  readonly grant: Pick<GatewayGrant, 'group' | 'invocation' | 'tier'>;
}

const REFUSALS_RECORDED = 50;
const TARGET_CHARS = 200;

/** The query may hold what the chat is about; the path says enough. */
const detailsOf = ({ route, method, prefix, apiPath }: CredentialForward) => ({
  credential: route.name,
  host: new URL(route.baseUrl).host,
  method,
  prefix,
  path: apiPath.slice(0, TARGET_CHARS),
});

export const createCredentialRecord = ({ audit, logger, grant }: CredentialRecordParts): CredentialRecord => {
  const { group, invocation, tier } = grant;
  const who = { group, invocation, tier };
  const state = { refusals: 0 };
  const quietly = (work: () => void): void => {
    try {
      work();
    } catch (err) {
      // What it tells of is over; the next request's own line decides whether there is one.
      logger.error({ err, invocation }, 'a use of a credential could not be put on record');
    }
  };
  return {
    opening: (forward) => audit.record({ kind: 'credential-open', ...who, ...detailsOf(forward) }),
    used: (forward, course) =>
      quietly(() => audit.record({ kind: 'credential-used', ...who, ...detailsOf(forward), ...course })),
    refused: (target, status, reason) => {
      state.refusals += 1;
      if (state.refusals > REFUSALS_RECORDED) return;
      const asked = (target.split('?')[0] ?? '').slice(0, TARGET_CHARS);
      logger.info({ status, reason }, 'credential request refused');
      quietly(() => audit.record({ kind: 'credential-refused', ...who, target: asked, status, reason }));
    },
    close: () => {
      const more = state.refusals - REFUSALS_RECORDED;
      if (more > 0) quietly(() => audit.record({ kind: 'credential-refused', ...who, more }));
    },
  };
};
