/** `tierclaw plan`: what the next turn of a group, or any turn of a tier, would get. Nothing is made. */
import { loadConfig } from '../config.ts';
import type { Group } from '../domain/group.ts';
import { TIER_NAMES, TierName } from '../domain/tiers.ts';
import { AppError } from '../errors.ts';
import type { Home } from '../home.ts';
import { builtImage, exampleGroup, examplePlan } from '../planning.ts';
import type { CommandContext, CommandResult } from './context.ts';
import { findGroup, soleGroup, withStores } from './groups-find.ts';
import { renderPlan } from './plan-table.ts';
import { terminalLine } from './terminal.ts';

export interface PlanOptions {
  readonly group?: string | undefined;
  readonly tier?: string | undefined;
}

const groupOfTier = (asked: string): Group => {
  const tier = TierName.safeParse(asked);
  if (tier.success) return exampleGroup(tier.data);
  const message = `--tier "${terminalLine(asked)}": a tier is one of ${TIER_NAMES.join(', ')}`;
  throw new AppError({ code: 'usage', message });
};

const registeredGroup = (home: Home, asked: string | undefined): Promise<Group> =>
  withStores(home, (stores) => (asked === undefined ? soleGroup(stores) : findGroup(stores, asked)));

export const plan = async ({ home }: CommandContext, { group, tier }: PlanOptions): Promise<CommandResult> => {
  if (group !== undefined && tier !== undefined) {
    throw new AppError({ code: 'usage', message: 'name a group or a --tier, not both' });
  }
  const config = await loadConfig(home);
  const wanted = tier === undefined ? await registeredGroup(home, group) : groupOfTier(tier);
  const planned = examplePlan({ home, config, image: builtImage(home) }, wanted);
  return { text: renderPlan(planned), data: planned };
};
