/**
 * From a tier row and a group to the plan of one invocation, and from that plan to a container: pure. All that is
 * decided about rights is decided here.
 */
import type { Credentials } from './credential-config.ts';
import { planCredentials } from './credential-plan.ts';
import type { Grant, Group } from './group.ts';
import type { InvocationId } from './ids.ts';
import { type PlanRoots, planMounts } from './mounts.ts';
import { type ContainerSpec, type InvocationPlan, LABELS, type PlannedLimits } from './plan.ts';
import { largestPlace, planQuotas } from './quota.ts';
import type { TierLimits, TierRow } from './tiers.ts';
import type { ToolName } from './tools.ts';

/** The home's host protection (DESIGN §3), in every tier; null: switched off. */
export interface Ceiling {
  readonly pids: number | null;
  readonly memoryBytes: number | null;
  readonly wallMs: number | null;
}

export interface PlanInput {
  readonly invocation: InvocationId;
  readonly home: string;
  readonly group: Group;
  readonly row: TierRow;
  readonly grants: readonly Grant[];
  readonly roots: PlanRoots;
  readonly ceiling: Ceiling;
  readonly model: { readonly provider: string; readonly name: string };
  /** As the home declares them. */
  readonly credentials: Credentials;
  readonly uid: number;
  readonly image: string;
}

const lesser = (a: number | null, b: number | null): number | null => {
  if (a === null) return b;
  return b === null ? a : Math.min(a, b);
};

/** The ceiling protects the host, so it only ever lowers a limit. */
export const plannedLimits = (limits: TierLimits, ceiling: Ceiling): PlannedLimits => ({
  ...limits,
  memoryBytes: lesser(limits.memoryBytes, ceiling.memoryBytes),
  pids: lesser(limits.pids, ceiling.pids),
  wallMs: lesser(limits.wallMs, ceiling.wallMs),
});

const FILE_TOOLS: readonly ToolName[] = ['file_read', 'file_write', 'file_edit', 'glob', 'grep'];

const toolsOf = (row: TierRow): ToolName[] => [
  ...(row.rights.shell ? (['bash'] as const) : []),
  ...(row.rights.fileTools ? FILE_TOOLS : []),
  'send_message',
  'send_file',
  ...(row.egress.policy === 'none' ? [] : (['web_fetch'] as const)),
];

export const planInvocation = (input: PlanInput): InvocationPlan => {
  const { group, row } = input;
  const mounts = planMounts(row, input.roots, input.grants);
  const quotas = planQuotas(row.quotas, mounts, row.limits.rootfs);
  // No file can be of use that is larger than the largest place: the kernel keeps to that without any measuring.
  const limits = { ...row.limits, fileBytes: lesser(row.limits.fileBytes, largestPlace(quotas)) };
  return {
    invocation: input.invocation,
    home: input.home,
    group: { id: group.id, folder: group.folder, name: group.name },
    agent: group.agent,
    tier: row.name,
    mounts,
    limits: plannedLimits(limits, input.ceiling),
    quotas,
    rights: row.rights,
    model: { ...row.model, ...input.model },
    egress: row.egress,
    credentials: planCredentials(input.credentials, { row, agent: group.agent, folder: group.folder }),
    tiles: row.tiles,
    tools: toolsOf(row),
    uid: input.uid,
    image: input.image,
  };
};

/** Where the image keeps the runner; see `container/Dockerfile`. */
const RUNNER = ['node', '/opt/tierclaw/runner.mjs'] as const;

export const containerSpec = (plan: InvocationPlan): ContainerSpec => ({
  name: `tierclaw-${plan.invocation.toLowerCase()}`,
  image: plan.image,
  command: RUNNER,
  env: { HOME: '/tmp/home', LANG: 'C.UTF-8' },
  labels: {
    [LABELS.home]: plan.home,
    [LABELS.group]: plan.group.folder,
    [LABELS.tier]: plan.tier,
    [LABELS.agent]: plan.agent,
    [LABELS.invocation]: plan.invocation,
  },
  uid: plan.uid,
  workdir: '/workspace/group',
  mounts: plan.mounts.map(({ target, source, mode }) => ({ target, source, readOnly: mode === 'ro' })),
  limits: plan.limits,
});
