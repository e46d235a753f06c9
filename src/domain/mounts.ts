/**
 * The mount table of one invocation (DESIGN §3), pure. Invariants: every source is a directory; none lies beneath a
 * directory that a container can write; no target lies inside another mount's target.
 */
import type { Grant } from './group.ts';
import type { AgentAlias } from './ids.ts';
import type { MountContent, PlannedMount } from './plan.ts';
import type { TierRow } from './tiers.ts';

/** Absolute host paths of what may be mounted. */
export interface PlanRoots {
  readonly group: string;
  readonly global: string;
  readonly trusted: string;
  readonly agent: string;
  readonly siblingWorkspace: (alias: AgentAlias) => string;
  /** The composed set of this tier's tiles. */
  readonly tiles: string;
  /** This turn's own directories. */
  readonly turn: string;
  readonly ipc: string;
  readonly socket: string;
}

type Access = 'ro' | 'rw';

const kept = (target: string, source: string, mode: Access | 'none'): PlannedMount[] =>
  mode === 'none' ? [] : [{ target, source, mode, content: 'kept' }];

const globalMount = (row: TierRow, roots: PlanRoots): PlannedMount[] =>
  row.mounts.global === 'public-persona'
    ? [{ target: '/workspace/global', source: `${roots.turn}/global`, mode: 'ro', content: 'public-persona' }]
    : kept('/workspace/global', roots.global, row.mounts.global);

const storeMount = (row: TierRow, roots: PlanRoots): PlannedMount => ({
  target: '/workspace/store',
  source: `${roots.turn}/store`,
  mode: 'ro',
  content: row.mounts.store === 'published' ? 'published-store' : 'filtered-store',
});

const ipcMounts = (row: TierRow, roots: PlanRoots): PlannedMount[] => {
  const mount = (part: string, mode: Access, content: MountContent): PlannedMount => ({
    target: `/workspace/ipc${part}`,
    source: `${roots.ipc}${part}`,
    mode,
    content,
  });
  return row.mounts.ipc === 'whole'
    ? [mount('', 'rw', 'ipc')]
    : [mount('/messages', 'rw', 'ipc-messages'), mount('/input', 'ro', 'ipc-input')];
};

/** A grant never lifts the tier: the mount gets the lesser of the two. */
const siblingMounts = (row: TierRow, roots: PlanRoots, grants: readonly Grant[]): PlannedMount[] =>
  grants.flatMap(({ sibling, access }) => {
    const ceiling = row.mounts.agents;
    const mode = ceiling === 'rw' && access === 'read' ? 'ro' : ceiling;
    return kept(`/workspace/agents/${sibling}`, roots.siblingWorkspace(sibling), mode);
  });

export const planMounts = (row: TierRow, roots: PlanRoots, grants: readonly Grant[]): PlannedMount[] => [
  ...kept('/workspace/group', roots.group, row.mounts.group),
  ...globalMount(row, roots),
  ...kept('/workspace/trusted', roots.trusted, row.mounts.trusted),
  storeMount(row, roots),
  ...ipcMounts(row, roots),
  { target: '/workspace/tiles', source: roots.tiles, mode: row.mounts.tiles, content: 'tiles' },
  ...kept('/workspace/agent', roots.agent, row.mounts.agent),
  ...siblingMounts(row, roots, grants),
  { target: '/run/tierclaw', source: roots.socket, mode: row.mounts.socket, content: 'socket' },
];
