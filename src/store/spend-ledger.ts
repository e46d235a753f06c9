/**
 * Spending written down behind the requests' backs: what is counted is in the database a few milliseconds later, in one
 * transaction for all that came in meanwhile. The invariant: from a write that fails until one that succeeds, nothing
 * more is reserved; so a process that is killed forgets no more than the requests of its last few milliseconds.
 */
import { AppError } from '../errors.ts';
import type { WhenFree } from './patience.ts';
import type { SpendAnswer, SpendAsk, SpendSettlement, SpendStore } from './spend.ts';

export interface SpendLedgerOptions {
  readonly spend: Pick<SpendStore, 'reserve' | 'settle' | 'write' | 'isWritten'>;
  readonly whenFree: WhenFree;
  /** A write failed. It is tried again. */
  readonly onError: (thrown: unknown) => void;
}

export interface DeferredLedger {
  /** Throws AppError `conflict` while what was counted before can't be written down. */
  reserve(ask: SpendAsk): SpendAnswer;
  settle(settlement: SpendSettlement): void;
  /** Writes what is unwritten, and throws where that fails. Nothing is written by itself afterwards. */
  close(): void;
}

/** Longer than a request takes to be sent, so that it doesn't wait for the disk; much shorter than it takes to cost much. */
const WRITE_AFTER_MS = 10;
/** A full disk stays full for a while, and each try holds the event loop for a moment. */
const RETRY_AFTER_MS = 1000;

const behindError = (): AppError =>
  new AppError({
    code: 'conflict',
    message: 'what model requests have used can’t be written down at the moment',
    hint: 'tierclaw doctor',
  });

export const createSpendLedger = ({ spend, whenFree, onError }: SpendLedgerOptions): DeferredLedger => {
  const state = { timer: undefined as NodeJS.Timeout | undefined, isBehind: false, isClosed: false };

  const write = async (): Promise<void> => {
    state.isBehind = true;
    try {
      await whenFree(() => spend.write());
      state.isBehind = false;
    } catch (thrown) {
      onError(thrown);
    }
    state.timer = undefined;
    if (!state.isClosed && !spend.isWritten()) later(state.isBehind ? RETRY_AFTER_MS : WRITE_AFTER_MS);
  };

  /** Does nothing while one is awaited or under way. */
  const later = (afterMs: number): void => {
    state.timer ??= setTimeout(() => void write(), afterMs);
  };

  return {
    reserve: (ask) => {
      if (state.isBehind) throw behindError();
      const answer = spend.reserve(ask);
      if (answer.ok) later(WRITE_AFTER_MS);
      return answer;
    },
    settle: (settlement) => {
      spend.settle(settlement);
      later(WRITE_AFTER_MS);
    },
    close: () => {
      state.isClosed = true;
      clearTimeout(state.timer);
      spend.write();
    },
  };
};
