/** The places of one turn that are watched, and why what was found in one of them ends it. */
import type { InvocationPlan, PlannedQuota } from '../domain/plan.ts';
import { type Allowance, type Excess, excessOf, excessText, fullAt, judgeStart } from '../domain/quota.ts';
import type { MeasureResult } from '../files/measure-protocol.ts';

/** Why a turn must not go on, or not begin. */
export interface DiskEnd {
  readonly kind: 'exceeded' | 'full' | 'unmeasurable';
  readonly place: string;
  readonly excess: Excess | null;
  /** For the operator. */
  readonly detail: string;
}

export interface WatchedPlace {
  readonly quota: PlannedQuota;
  /** A directory of the host; null: not known yet, or it can't be seen. */
  source: string | null;
  /** null: not judged yet, which the first measurement does. */
  allowed: Allowance | null;
  /** What it held at first, and what it holds now. */
  before: number;
  bytes: number;
}

export type MeasuredTree = MeasureResult['trees'][number];

const sourceOf = (plan: InvocationPlan, place: string): string | null =>
  plan.mounts.find(({ target }) => target === place)?.source ?? null;

export const watchedPlaces = (plan: InvocationPlan): WatchedPlace[] =>
  plan.quotas
    .filter(({ bytes, files }) => bytes !== null || files !== null)
    .map((quota) => ({ quota, source: sourceOf(plan, quota.place), allowed: null, before: 0, bytes: 0 }));

export const exceeded = (place: string, excess: Excess): DiskEnd => ({
  kind: 'exceeded',
  place,
  excess,
  detail: excessText(place, excess),
});

/** A directory that its owner has closed to everybody can still be written through what is open already. */
const closedEnd = (place: string): DiskEnd => ({
  kind: 'unmeasurable',
  place,
  excess: null,
  detail: `${place} has directories that can’t be measured: the container has closed them`,
});

const fullEnd = ({ quota, source }: WatchedPlace, excess: Excess): DiskEnd => ({
  kind: 'full',
  place: quota.place,
  excess,
  detail: `${excessText(quota.place, excess)} (make room in ${source}, or raise its quota in tierclaw.yaml)`,
});

/** What is known of a place now; `over`: the agent is to be told that it is too full already. */
export interface Verdict {
  readonly end: DiskEnd | null;
  readonly over: string | null;
}

const FINE: Verdict = { end: null, over: null };

const judgeFirst = (place: WatchedPlace, tree: MeasuredTree): Verdict => {
  const { quota } = place;
  const start = judgeStart(quota, tree);
  place.before = tree.bytes;
  if (start.kind === 'full') return { end: fullEnd(place, start.excess), over: null };
  place.allowed = start.allowed;
  return start.over === null ? FINE : { end: null, over: excessText(quota.place, start.over) };
};

/** Takes in what was measured, and judges it. */
export const judgePlace = (place: WatchedPlace, tree: MeasuredTree): Verdict => {
  place.bytes = tree.bytes;
  if (tree.closed > 0) return { end: closedEnd(place.quota.place), over: null };
  if (place.allowed === null) return judgeFirst(place, tree);
  const excess = excessOf(tree, place.allowed);
  return excess === null ? FINE : { end: exceeded(place.quota.place, excess), over: null };
};

/** What lies beyond needn't be looked at: at first what a turn may find, later what it may hold. */
export const boundsOf = ({ allowed, quota }: WatchedPlace): Allowance => {
  const { bytes, files } = allowed ?? fullAt(quota);
  return { bytes, files };
};
