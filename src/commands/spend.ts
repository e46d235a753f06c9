/** `tierclaw spend`: what each group has used of its model budget, by UTC day, beside the caps that hold now. */
import { loadConfig } from '../config.ts';
import type { Group } from '../domain/group.ts';
import { NANO_USD_PER_USD } from '../domain/prices.ts';
import type { TierModelCaps } from '../domain/tiers.ts';
import { modelCaps } from '../planning.ts';
import type { SpentDay } from '../store/spend.ts';
import type { CommandContext, CommandResult } from './context.ts';
import { findGroup, withStores } from './groups-find.ts';
import { formatCount, renderTable } from './table.ts';

export interface SpendOptions {
  readonly group?: string | undefined;
  readonly days: number;
}

type DayCaps = Pick<TierModelCaps, 'tokensPerDay' | 'usdPerDay'>;

interface Spender {
  readonly group: string;
  /** null: not registered any more; then it has no caps either. */
  readonly folder: string | null;
  readonly tier: string | null;
  readonly caps: DayCaps | null;
  readonly days: readonly SpentDay[];
}

/** An empty row says that nothing was used today. */
const withToday = (days: readonly SpentDay[], group: Group, today: string): readonly SpentDay[] =>
  days[0]?.day === today
    ? days
    : [{ group: group.id, day: today, requests: 0, inputTokens: 0, outputTokens: 0, nanoUsd: 0 }, ...days];

const usd = (nanoUsd: number): number => nanoUsd / NANO_USD_PER_USD;

const share = (used: string, cap: number | null | undefined, format: (cap: number) => string): string => {
  if (cap === undefined) return used;
  return cap === null ? `${used} (no cap)` : `${used} of ${format(cap)}`;
};

const rowOf = ({ group, folder, caps }: Spender, day: SpentDay): string[] => [
  folder ?? group,
  day.day,
  formatCount(day.requests),
  share(formatCount(day.inputTokens + day.outputTokens), caps?.tokensPerDay, formatCount),
  share(usd(day.nanoUsd).toFixed(4), caps?.usdPerDay, String),
];

const render = (spenders: readonly Spender[]): string => {
  const rows = spenders.flatMap((spender) => spender.days.map((day) => rowOf(spender, day)));
  if (rows.length === 0) return 'no group is registered, and nothing was used';
  return renderTable([['group', 'day (UTC)', 'requests', 'tokens', 'USD'], ...rows]);
};

const dataOf = ({ days, ...spender }: Spender) => ({
  ...spender,
  days: days.map(({ day, requests, inputTokens, outputTokens, nanoUsd }) => ({
    day,
    requests,
    inputTokens,
    outputTokens,
    usd: usd(nanoUsd),
  })),
});

const spenderOf = (group: Group, caps: DayCaps, days: readonly SpentDay[]): Spender => ({
  group: group.id,
  folder: group.folder,
  tier: group.tier,
  caps: { tokensPerDay: caps.tokensPerDay, usdPerDay: caps.usdPerDay },
  days,
});

/** Groups that aren't registered any more, as far as they have used something. */
const formerSpenders = (spent: readonly SpentDay[], groups: readonly Group[]): Spender[] => {
  const registered = new Set(groups.map(({ id }) => id));
  const ids = new Set(spent.map(({ group }) => group).filter((id) => !registered.has(id)));
  return [...ids].map((id) => ({
    group: id,
    folder: null,
    tier: null,
    caps: null,
    days: spent.filter(({ group }) => group === id),
  }));
};

/** Requests under way count with all that they may use. */
export const spend = async ({ home }: CommandContext, options: SpendOptions): Promise<CommandResult> => {
  const config = await loadConfig(home);
  return withStores(home, (stores) => {
    const today = stores.spend.today();
    const spent = stores.spend.days(options.days);
    const all = stores.groups.list();
    const wanted = options.group === undefined ? all : [findGroup(stores, options.group)];
    const spenders = wanted.map((group) => {
      const days = spent.filter((day) => day.group === group.id);
      return spenderOf(group, modelCaps(config, group.tier), withToday(days, group, today));
    });
    if (options.group === undefined) spenders.push(...formerSpenders(spent, all));
    return { text: render(spenders), data: { today, groups: spenders.map(dataOf) } };
  });
};
