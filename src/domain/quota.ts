/**
 * What a turn's writable places may hold: the tier's quotas as the operator's file changes them, the plan's share of
 * them, and the judging of what was measured. Pure. A place that was too full before its turn may shrink, never grow.
 */
import { z } from 'zod';
import { GroupId } from './ids.ts';
import type { PlannedMount, PlannedQuota } from './plan.ts';
import { type TierLimits, TierName, type TierQuotas } from './tiers.ts';

const MIB = 1024 * 1024;
const TIB = 1024 * 1024 * MIB;

const Bytes = z
  .number()
  .int()
  .min(MIB)
  .max(1024 * TIB)
  .nullable()
  .optional();
const Files = z.number().int().min(10).max(1e9).nullable().optional();

/** What isn't named stays as it is. */
export const QuotaOverride = z
  .strictObject({
    mountBytes: Bytes.describe('Bytes on disk in each directory that the group’s turns can write; null: no quota.'),
    mountFiles: Files.describe('Files and directories in each of them; null: no quota.'),
    ipcBytes: Bytes.describe('Bytes on disk in a turn’s own exchange with the host (messages/); null: no quota.'),
    ipcFiles: Files.describe('Files and directories in it; null: no quota.'),
    rootBytes: Bytes.describe('Bytes on disk in the writable layer of the root file system; null: no quota.'),
    rootFiles: Files.describe('Files and directories in it; null: no quota.'),
  })
  .describe('Quotas that differ from what the tier has; what isn’t named stays as it is.');
export type QuotaOverride = z.infer<typeof QuotaOverride>;

export const QuotaConfig = z
  .strictObject({
    tiers: z.partialRecord(TierName, QuotaOverride).default({}).describe('By tier.'),
    groups: z.record(GroupId, QuotaOverride).default({}).describe('By group id; goes before the tier’s.'),
  })
  .describe('Disk quotas: how much turns may write, kept by measuring.');
export type QuotaConfig = z.infer<typeof QuotaConfig>;

const FIELDS = ['mountBytes', 'mountFiles', 'ipcBytes', 'ipcFiles', 'rootBytes', 'rootFiles'] as const;

/** null is a word of the operator's, so it isn't passed over like what is left out. */
const override = (own: TierQuotas, set: QuotaOverride): TierQuotas => {
  const changed = FIELDS.filter((field) => set[field] !== undefined).map((field) => [field, set[field]]);
  return { ...own, ...Object.fromEntries(changed) };
};

/** A tier's own quotas, then what the file says of the tier, then of the group. */
export const quotasFor = (
  own: TierQuotas,
  config: QuotaConfig,
  whose: { readonly tier: TierName; readonly group: GroupId },
): TierQuotas => override(override(own, config.tiers[whose.tier] ?? {}), config.groups[whose.group] ?? {});

/** Stands for the writable layer of the root file system. */
export const ROOT_PLACE = '/';

const quotaOf = ({ content, target }: PlannedMount, quotas: TierQuotas): PlannedQuota =>
  content === 'ipc' || content === 'ipc-messages'
    ? { place: target, bytes: quotas.ipcBytes, files: quotas.ipcFiles }
    : { place: target, bytes: quotas.mountBytes, files: quotas.mountFiles };

/** One for every place of a plan that its container can write and that is no tmpfs. */
export const planQuotas = (
  quotas: TierQuotas,
  mounts: readonly PlannedMount[],
  rootfs: TierLimits['rootfs'],
): PlannedQuota[] => [
  ...mounts.filter(({ mode }) => mode === 'rw').map((mount) => quotaOf(mount, quotas)),
  ...(rootfs === 'writable' ? [{ place: ROOT_PLACE, bytes: quotas.rootBytes, files: quotas.rootFiles }] : []),
];

/** The most bytes that any place of these may hold; null: some place has no quota, or there is none. */
export const largestPlace = (quotas: readonly PlannedQuota[]): number | null => {
  const sizes = quotas.map(({ bytes }) => bytes);
  return sizes.length === 0 || sizes.includes(null) ? null : Math.max(...sizes.map(Number));
};

/** What was found in a place; where the measuring stopped early, at least that much. */
export interface Usage {
  /** Allocated on disk: a sparse file counts with what it takes up, a file with several names once. */
  readonly bytes: number;
  /** Entries of every kind. */
  readonly files: number;
}

export interface Allowance {
  readonly bytes: number | null;
  readonly files: number | null;
}

export interface Excess {
  readonly unit: keyof Usage;
  readonly measured: number;
  readonly allowed: number;
}

const UNITS = ['bytes', 'files'] as const;

export const excessOf = (used: Usage, allowed: Allowance): Excess | null => {
  for (const unit of UNITS) {
    const most = allowed[unit];
    if (most !== null && used[unit] > most) return { unit, measured: used[unit], allowed: most };
  }
  return null;
};

/** A place that holds more than this many quotas isn't opened to another turn: each could add what one writes unseen. */
const FULL_AT = 2;
/** What a turn may add to a place that is over its quota: deleting and tidying up write a little themselves. */
const TIDYING: Usage = { bytes: 8 * MIB, files: 1000 };

const times = (most: number | null, factor: number): number | null => (most === null ? null : most * factor);

/** Beyond this nothing needs to be measured any more. */
export const fullAt = (quota: Allowance): Allowance => ({
  bytes: times(quota.bytes, FULL_AT),
  files: times(quota.files, FULL_AT),
});

const grownAllowance = (most: number | null, used: number, room: number): number | null =>
  most === null || used <= most ? most : Math.min(used + room, most * FULL_AT);

export type Start =
  /** The turn may begin; `over` is what the agent is to be told of. */
  | { readonly kind: 'open'; readonly allowed: Allowance; readonly over: Excess | null }
  | { readonly kind: 'full'; readonly excess: Excess };

/** Whether a turn may begin with a place that holds that much, and how much it may hold while the turn lasts. */
export const judgeStart = (quota: Allowance, used: Usage): Start => {
  const full = excessOf(used, fullAt(quota));
  if (full !== null) return { kind: 'full', excess: { ...full, allowed: full.allowed / FULL_AT } };
  const allowed = {
    bytes: grownAllowance(quota.bytes, used.bytes, TIDYING.bytes),
    files: grownAllowance(quota.files, used.files, TIDYING.files),
  };
  return { kind: 'open', allowed, over: excessOf(used, quota) };
};

const amount = (unit: Excess['unit'], count: number): string =>
  unit === 'bytes' ? `${(count / MIB).toFixed(1)} MB` : `${count} files`;

/** `/workspace/group holds 12.0 MB; 10.0 MB are allowed`. */
export const excessText = (place: string, { unit, measured, allowed }: Excess): string =>
  `${place === ROOT_PLACE ? 'the writable root layer' : place} holds ${amount(unit, measured)}; ${amount(unit, allowed)} are allowed`;
