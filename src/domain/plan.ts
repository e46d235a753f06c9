/**
 * The plan of one invocation: everything that decides about rights, as data. Made by `planInvocation` (pure), carried
 * out by `flow/stage.ts` and a runtime; nothing after it decides anything.
 */

import type { PlannedCredentials } from './credential-plan.ts';
import type { Egress } from './egress.ts';
import type { AgentAlias, GroupFolder, GroupId, InvocationId } from './ids.ts';
import type { TierLimits, TierModelCaps, TierName, TierRights } from './tiers.ts';
import type { ToolName } from './tools.ts';

/** What stage has to put at a mount's source, and who keeps it. */
export type MountContent =
  /** A directory that outlives the turn; made if missing, owned by the container's uid where the mount is rw. */
  | 'kept'
  /** A directory of this turn with the sanitized persona as `SOUL.md`. */
  | 'public-persona'
  | 'published-store'
  | 'filtered-store'
  | 'tiles'
  /** `messages/ tasks/ input/` and root snapshots, all writable. */
  | 'ipc'
  | 'ipc-messages'
  | 'ipc-input'
  | 'socket';

export interface PlannedMount {
  /** The path in the container; below `/workspace` or `/run/tierclaw`. */
  readonly target: string;
  /** Absolute path on the host: a directory, never a file, never beneath a directory that a container can write. */
  readonly source: string;
  readonly mode: 'ro' | 'rw';
  readonly content: MountContent;
}

/** The tier's limits joined with the home's host-protection ceiling: what the container really gets. null: unlimited. */
export type PlannedLimits = TierLimits;

/** What one writable place may hold; null: no quota. */
export interface PlannedQuota {
  /** A writable mount's target, or `/`: the writable layer of the root filesystem. */
  readonly place: string;
  /** Bytes on disk. */
  readonly bytes: number | null;
  /** Entries of every kind. */
  readonly files: number | null;
}

export interface InvocationPlan {
  readonly invocation: InvocationId;
  /** Identifies the home on this machine: its real path. */
  readonly home: string;
  readonly group: { readonly id: GroupId; readonly folder: GroupFolder; readonly name: string };
  readonly agent: AgentAlias;
  readonly tier: TierName;
  readonly mounts: readonly PlannedMount[];
  readonly limits: PlannedLimits;
  readonly quotas: readonly PlannedQuota[];
  readonly rights: TierRights;
  readonly model: TierModelCaps & { readonly provider: string; readonly name: string };
  readonly egress: Egress;
  /** Names and scopes; the values are joined when the container is started, or a request goes out. */
  readonly credentials: PlannedCredentials;
  readonly tiles: readonly string[];
  readonly tools: readonly ToolName[];
  /** uid = gid of the container's processes; never 0. */
  readonly uid: number;
  readonly image: string;
}

/**
 * A container as any runtime understands it: engine-neutral, complete. `runtimes/docker-create.ts` turns it into the
 * engine's words.
 */
export interface ContainerSpec {
  readonly name: string;
  readonly image: string;
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
  readonly uid: number;
  readonly workdir: string;
  readonly mounts: readonly { readonly target: string; readonly source: string; readonly readOnly: boolean }[];
  readonly limits: PlannedLimits;
}

/** Label keys; the values identify whose container it is. Labels are the truth when a supervisor starts. */
export const LABELS = {
  home: 'tierclaw.home',
  group: 'tierclaw.group',
  tier: 'tierclaw.tier',
  agent: 'tierclaw.agent',
  invocation: 'tierclaw.invocation',
} as const;
