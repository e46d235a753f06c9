/**
 * What a request may cost, reserved before it goes out and settled by what the provider reports. The invariant: a
 * request goes out only if all that it may use still fits its group's caps; where that can't be known or written down,
 * it doesn't go out.
 */
import type { Logger } from 'pino';
import type { GroupId } from '../domain/ids.ts';
import { type Amount, costNanoUsd, FREE, NANO_USD_PER_USD, type Price, type TokenUse } from '../domain/prices.ts';
import type { TierModelCaps } from '../domain/tiers.ts';
import {
  type BudgetRefusal,
  cappedRefusal,
  tooLargeRefusal,
  uncountedRefusal,
  unpricedRefusal,
} from './budget-refusal.ts';

export type DayCap = 'tokensPerDay' | 'usdPerDay';
export type LedgerCap = DayCap | 'requestsPerMinute';

export interface LedgerAsk {
  readonly group: GroupId;
  readonly caps: Pick<TierModelCaps, LedgerCap>;
  readonly amount: Amount;
}

export type LedgerAnswer =
  | { readonly ok: true; readonly day: string }
  | { readonly ok: false; readonly over: LedgerCap; readonly waitMs: number; readonly used: Amount };

/** The port: where spending is written down so that it survives a restart. */
export interface SpendLedger {
  /**
   * Compares and counts in one step. `waitMs`: so long the cap stands in the way if nothing is settled meanwhile.
   * Throws where what was used can't be known or, as far as that has shown, not be written down.
   */
  reserve(ask: LedgerAsk): LedgerAnswer;
  /** Replaces what was reserved by what was used; never throws. */
  settle(settlement: { group: GroupId; day: string; reserved: Amount; used: Amount }): void;
}

export interface BudgetAsk {
  readonly group: GroupId;
  readonly caps: TierModelCaps;
  readonly provider: string;
  readonly model: string;
  /** null: unknown. */
  readonly price: Price | null;
  /** An estimate. */
  readonly inputTokens: number;
  /** The most that may come back. */
  readonly outputTokens: number;
}

export interface Reservation {
  readonly allow: true;
  /** null: nobody knows what was used, so all that was reserved stays counted. The first call counts; never throws. */
  settle(used: TokenUse | null): void;
}

export interface Budget {
  reserve(ask: BudgetAsk): Reservation | BudgetRefusal;
}

/** So much of a body is about one token: a little less than English prose has, so that the estimate is on the safe side. */
const BYTES_PER_TOKEN = 3;

export const estimateTokens = (bytes: number): number => Math.ceil(bytes / BYTES_PER_TOKEN);

const plainUse = (inputTokens: number, outputTokens: number): TokenUse => ({
  inputTokens,
  outputTokens,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  cacheWriteHourTokens: 0,
});

const amountOf = (price: Price, use: TokenUse): Amount => ({
  inputTokens: use.inputTokens,
  outputTokens: use.outputTokens,
  nanoUsd: costNanoUsd(price, use),
});

const tokensOf = ({ inputTokens, outputTokens }: Amount): number => inputTokens + outputTokens;

/** The cap of a day that this alone would go beyond: waiting for another day doesn't help. */
const neverFits = (amount: Amount, caps: TierModelCaps): DayCap | null => {
  if (caps.tokensPerDay !== null && tokensOf(amount) > caps.tokensPerDay) return 'tokensPerDay';
  return caps.usdPerDay !== null && amount.nanoUsd > caps.usdPerDay * NANO_USD_PER_USD ? 'usdPerDay' : null;
};

/** What is reserved and not settled yet, by group: when it is settled, more may fit again. */
const createUnsettled = () => {
  const groups = new Map<GroupId, Set<Amount>>();
  return {
    add: (group: GroupId, amount: Amount): void => {
      groups.set(group, (groups.get(group) ?? new Set()).add(amount));
    },
    remove: (group: GroupId, amount: Amount): void => {
      const amounts = groups.get(group);
      amounts?.delete(amount);
      if (amounts?.size === 0) groups.delete(group);
    },
    /** What remains of `used` if none of it comes to anything. */
    without: (group: GroupId, used: Amount): Amount =>
      [...(groups.get(group) ?? [])].reduce(
        (left, one) => ({
          inputTokens: left.inputTokens - one.inputTokens,
          outputTokens: left.outputTokens - one.outputTokens,
          nanoUsd: left.nanoUsd - one.nanoUsd,
        }),
        used,
      ),
  };
};

const sum = (a: Amount, b: Amount): Amount => ({
  inputTokens: a.inputTokens + b.inputTokens,
  outputTokens: a.outputTokens + b.outputTokens,
  nanoUsd: a.nanoUsd + b.nanoUsd,
});

/** The budgets of all groups over that ledger. */
export const createBudget = (ledger: SpendLedger, logger: Logger): Budget => {
  const unsettled = createUnsettled();

  const reservation = ({ group }: BudgetAsk, price: Price, held: { day: string; amount: Amount }): Reservation => {
    const state = { settled: false };
    const { day, amount: reserved } = held;
    unsettled.add(group, reserved);
    return {
      allow: true,
      settle: (use) => {
        if (state.settled) return;
        state.settled = true;
        unsettled.remove(group, reserved);
        if (use !== null) ledger.settle({ group, day, reserved, used: amountOf(price, use) });
      },
    };
  };

  const reserve = (ask: BudgetAsk, price: Price): Reservation | BudgetRefusal => {
    const { group, caps } = ask;
    const amount = amountOf(price, plainUse(ask.inputTokens, ask.outputTokens));
    const impossible = neverFits(amount, caps);
    if (impossible !== null) return tooLargeRefusal(impossible, caps, amount);
    const answer = ledger.reserve({ group, caps, amount });
    if (answer.ok) return reservation(ask, price, { day: answer.day, amount });
    const mayFitSoon =
      answer.over !== 'requestsPerMinute' &&
      neverFits(sum(unsettled.without(group, answer.used), amount), caps) === null;
    return cappedRefusal({ ...answer, mayFitSoon }, caps, amount);
  };

  return {
    reserve: (ask) => {
      const costs = ask.inputTokens + ask.outputTokens > 0 && ask.caps.usdPerDay !== null;
      if (ask.price === null && costs) return unpricedRefusal(ask.provider, ask.model);
      try {
        return reserve(ask, ask.price ?? FREE);
      } catch (err) {
        logger.error({ err, group: ask.group }, 'a model request could not be counted, so it was not made');
        return uncountedRefusal();
      }
    },
  };
};
