/** Why a budget lets a request not pass, in words for whoever asked, with a time where waiting helps. Pure. */
import { type Amount, NANO_USD_PER_USD } from '../domain/prices.ts';
import type { TierModelCaps } from '../domain/tiers.ts';
import type { DayCap, LedgerCap } from './budget.ts';
import { type Refusal, refusal } from './rules.ts';

export interface BudgetRefusal extends Refusal {
  readonly retryAfterSeconds?: number;
  /** Set with 429. */
  readonly cap?: LedgerCap;
}

/** What is reserved by requests under way comes back at some time that nobody knows. */
const UNSETTLED_RETRY_SECONDS = 5;
/** The ledger may be writable again. */
const UNCOUNTED_RETRY_SECONDS = 5;

/** Rounded up: a request never seems to be within a cap that it was refused for. */
const usd = (nanoUsd: number): string => `${Math.ceil(nanoUsd / 100_000) / 10_000} USD`;
const tokens = ({ inputTokens, outputTokens }: Amount): number => inputTokens + outputTokens;

const CAPS: Readonly<Record<DayCap, (caps: TierModelCaps) => string>> = {
  tokensPerDay: ({ tokensPerDay }) => `${tokensPerDay} tokens`,
  usdPerDay: ({ usdPerDay }) => usd((usdPerDay ?? 0) * NANO_USD_PER_USD),
};
const measured = (cap: DayCap, amount: Amount): string =>
  cap === 'tokensPerDay' ? `${tokens(amount)} tokens` : usd(amount.nanoUsd);

export const unpricedRefusal = (provider: string, model: string): BudgetRefusal =>
  refusal(
    403,
    `nobody knows what the model "${model.slice(0, 100)}" costs, and this chat’s money is capped: ` +
      `the operator can set prices."${provider}/${model.slice(0, 100)}" in tierclaw.yaml`,
  );

export const tooLargeRefusal = (cap: DayCap, caps: TierModelCaps, amount: Amount): BudgetRefusal =>
  refusal(
    403,
    `this request may use ${measured(cap, amount)}, and this chat’s whole day has ${CAPS[cap](caps)}: ` +
      'send less or ask for fewer tokens',
  );

export const uncountedRefusal = (): BudgetRefusal => ({
  ...refusal(503, 'model requests can’t be counted at the moment, so none is made'),
  retryAfterSeconds: UNCOUNTED_RETRY_SECONDS,
});

export interface Capped {
  readonly over: LedgerCap;
  readonly waitMs: number;
  readonly used: Amount;
  /** It may fit as soon as what is under way is settled. */
  readonly mayFitSoon: boolean;
}

const cappedReason = ({ over, used }: Capped, caps: TierModelCaps, amount: Amount): string =>
  over === 'requestsPerMinute'
    ? `this chat may make ${caps.requestsPerMinute} model requests a minute`
    : `this chat has used ${measured(over, used)} of today’s ${CAPS[over](caps)} (a day begins at 00:00 UTC), ` +
      `and this request may use ${measured(over, amount)}`;

export const cappedRefusal = (capped: Capped, caps: TierModelCaps, amount: Amount): BudgetRefusal => ({
  ...refusal(429, cappedReason(capped, caps, amount)),
  retryAfterSeconds: capped.mayFitSoon ? UNSETTLED_RETRY_SECONDS : Math.max(1, Math.ceil(capped.waitMs / 1000)),
  cap: capped.over,
});
