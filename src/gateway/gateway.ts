/**
 * The gateway's face: one HTTP server per invocation on a unix socket of its own. Who asks is which socket; what may
 * be asked is in the grant; keys stay on this side.
 */
import type { PlannedRoute } from '../domain/credential-plan.ts';
import type { Egress } from '../domain/egress.ts';
import type { GroupId } from '../domain/ids.ts';
import type { TierModelCaps, TierName } from '../domain/tiers.ts';

export interface GatewayGrant {
  readonly invocation: string;
  /** Whose budget pays; both sessions of a group share it. */
  readonly group: GroupId;
  /** An existing directory of this invocation's own, 0755; the socket is made in it as `gateway.sock`, 0666. */
  readonly socketDirectory: string;
  /** The one provider and the models that this invocation may use. */
  readonly provider: string;
  readonly models: readonly string[];
  readonly caps: TierModelCaps;
  /** For the audit trail. */
  readonly tier: TierName;
  readonly egress: Egress;
  /** Routes below `/cred/`. */
  readonly credentials: readonly PlannedRoute[];
}

export interface GatewayUse {
  readonly requests: number;
  readonly refusals: number;
  /** As the provider reported them to us, never as the container says. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Of the last error that a request was answered with: null where it was not of the gateway's own making. */
  readonly refused: GatewayRefusal | null;
}

/** Truer than what the container says of a status: whose it was, and why. */
export interface GatewayRefusal {
  readonly status: number;
  /** The cap that the request ran into; null: something else was wrong with it. */
  readonly cap: ModelCap | null;
}

/** Caps whose refusal is a 429: waiting helps. */
export type ModelCap = 'concurrent' | 'requestsPerMinute' | 'tokensPerDay' | 'usdPerDay';

export interface GatewaySession {
  /** Resolves with `Date.now()` when the first model request has come in and been let through. */
  readonly firstModelRequest: Promise<number>;
  use(): GatewayUse;
  /** Ends what is under way and removes the socket; late requests get nothing. Idempotent. */
  close(): Promise<void>;
}

export interface Gateway {
  open(grant: GatewayGrant): Promise<GatewaySession>;
}
