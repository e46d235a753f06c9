/** A registered chat and the agent that answers in it. The state database alone decides a group's tier. */
import type { AgentAlias, GroupFolder, GroupId } from './ids.ts';
import type { TierName } from './tiers.ts';

export interface Group {
  readonly id: GroupId;
  readonly name: string;
  readonly folder: GroupFolder;
  readonly tier: TierName;
  readonly agent: AgentAlias;
  /** ISO 8601, UTC. */
  readonly registeredAt: string;
}

/** A minimal agent: its workspace is `<home>/agents/<alias>/workspace`. */
export interface Agent {
  readonly alias: AgentAlias;
}

/** "this agent may read (or read and write) the sibling's workspace"; declared on the agent that reads. */
export interface Grant {
  readonly sibling: AgentAlias;
  readonly access: 'read' | 'readwrite';
}
