/** From a home, its configuration and a group to the input of the pure planner: paths, ceiling, uid, image, model. */
import { readFileSync } from 'node:fs';
import { totalmem } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import type { Config } from './config.ts';
import { overrideCaps } from './domain/caps.ts';
import { egressFor } from './domain/egress-config.ts';
import type { Group } from './domain/group.ts';
import { AgentAlias, GroupFolder, GroupId, InvocationId } from './domain/ids.ts';
import type { InvocationPlan } from './domain/plan.ts';
import { REHEARSAL_MODEL } from './domain/provider-config.ts';
import { quotasFor } from './domain/quota.ts';
import { type Ceiling, planInvocation } from './domain/spec.ts';
import { type TierModelCaps, type TierName, type TierRow, tierRow } from './domain/tiers.ts';
import { isErrno } from './errors.ts';
import { agentWorkspace, groupDirectory, type Home, turnDirectories } from './home.ts';

/** Never a login user's: kernel limits such as inotify instances are counted per uid. */
const UID_WHEN_ROOT = 10_001;

export const containerUid = (config: Config): number => {
  const own = process.getuid?.() ?? 0;
  return config.runtime.docker.uid ?? (own === 0 ? UID_WHEN_ROOT : own);
};

const ceilingOf = ({ ceiling }: Config): Ceiling => ({
  pids: ceiling.pids,
  memoryBytes: ceiling.memoryShare === null ? null : Math.floor(ceiling.memoryShare * totalmem()),
  wallMs: ceiling.turnMinutes === null ? null : Math.floor(ceiling.turnMinutes * 60_000),
});

/** The tier's caps, with what the operator's file says otherwise. */
export const modelCaps = (config: Config, tier: TierName): TierModelCaps =>
  overrideCaps(tierRow(tier).model, config.caps[tier] ?? {});

/** The provider's default model. */
const modelOf = (config: Config): { provider: string; name: string } => {
  const provider = config.providers[config.provider];
  const models = provider === undefined || provider.kind === 'rehearsal' ? [] : provider.models;
  return { provider: config.provider, name: models[0] ?? REHEARSAL_MODEL };
};

const ImageRecord = z.strictObject({
  tag: z.string().min(1),
  /** What was used before, newest first. */
  former: z.array(z.string().min(1)).default([]),
});
/** No such image exists, so the engine's refusal names the command that builds one. */
const IMAGE_NOT_BUILT = 'tierclaw-agent:not-built';

/** Written by `tierclaw image build`, read once when a supervisor starts. */
export const imageFile = (home: Home): string => join(home.data, 'image.json');

const readImageRecord = (home: Home): z.infer<typeof ImageRecord> | null => {
  try {
    return ImageRecord.parse(JSON.parse(readFileSync(imageFile(home), 'utf8')));
  } catch (thrown) {
    if (isErrno(thrown, 'ENOENT')) return null;
    throw thrown;
  }
};

export const builtImage = (home: Home): string => readImageRecord(home)?.tag ?? IMAGE_NOT_BUILT;

/** The current one first, then those before it; empty: none was built yet. */
export const usedImages = (home: Home): string[] => {
  const record = readImageRecord(home);
  return record === null ? [] : [record.tag, ...record.former];
};

export interface PlanContext {
  readonly home: Home;
  readonly config: Config;
  readonly image: string;
}

/** Where the set of these tiles is composed; the same in plan and in stage. */
export const composedTilesDirectory = (home: Home, row: TierRow): string => join(home.tiles, row.tiles.join('+'));

export const planFor = (context: PlanContext, group: Group, invocation: InvocationId): InvocationPlan => {
  const { home, config, image } = context;
  const row = {
    ...tierRow(group.tier),
    model: modelCaps(config, group.tier),
    egress: egressFor(tierRow(group.tier), config.egress, group.id),
    quotas: quotasFor(tierRow(group.tier).quotas, config.quotas, { tier: group.tier, group: group.id }),
  };
  return planInvocation({
    invocation,
    home: home.dir,
    group,
    row,
    grants: [],
    roots: {
      group: groupDirectory(home, group.folder),
      global: home.global,
      trusted: home.trusted,
      agent: agentWorkspace(home, group.agent),
      siblingWorkspace: (alias) => agentWorkspace(home, alias),
      tiles: composedTilesDirectory(home, row),
      ...turnDirectories(home, group.folder, invocation),
    },
    ceiling: ceilingOf(config),
    model: modelOf(config),
    credentials: config.credentials,
    uid: containerUid(config),
    image,
  });
};

/** Stands for the id that a real turn will have. */
const EXAMPLE_INVOCATION = InvocationId.parse('00000000000000000000000000');

/** The plan that this group's next turn would get. */
export const examplePlan = (context: PlanContext, group: Group): InvocationPlan =>
  planFor(context, group, EXAMPLE_INVOCATION);

/** A group that isn't registered, to show what a tier gives. */
export const exampleGroup = (tier: TierName): Group => ({
  id: GroupId.parse('local:example'),
  name: 'example',
  folder: GroupFolder.parse('example'),
  tier,
  agent: AgentAlias.parse('default'),
  registeredAt: new Date(0).toISOString(),
});
