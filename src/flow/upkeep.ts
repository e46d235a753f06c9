/**
 * What has to happen whether or not somebody says so: retries that have become due, work that another process put into
 * the database, things left behind. Hints make it quick; this makes it certain. Never two rounds of one kind at once.
 */
import type { Logger } from 'pino';

export interface Chore {
  readonly name: string;
  readonly everyMs: number;
  /** Its first round is at once, not after `everyMs`. */
  readonly atStart?: boolean;
  readonly run: () => Promise<void>;
}

export interface Upkeep {
  /** No further round begins; resolves when those under way have ended. Idempotent. */
  close(): Promise<void>;
}

export const startUpkeep = (chores: readonly Chore[], logger: Logger): Upkeep => {
  const underWay = new Map<Chore, Promise<void>>();

  const round = (chore: Chore): void => {
    if (underWay.has(chore)) return;
    const running = chore
      .run()
      .catch((err: unknown) => logger.error({ err, chore: chore.name }, 'upkeep failed; it is tried again'))
      .finally(() => underWay.delete(chore));
    underWay.set(chore, running);
  };

  for (const chore of chores) if (chore.atStart === true) round(chore);
  const timers = chores.map((chore) => setInterval(() => round(chore), chore.everyMs));
  return {
    close: async () => {
      for (const timer of timers) clearInterval(timer);
      await Promise.all(underWay.values());
    },
  };
};
