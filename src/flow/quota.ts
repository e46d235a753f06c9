/**
 * Keeps turns within their disk quotas and the machine's disks above their floor. What a file system can't bound by
 * itself is bounded by measuring: a writer is over its quota for as long as it takes to see it and to kill it.
 */
import type { Logger } from 'pino';
import type { Audit } from '../audit.ts';
import type { DiskConfig } from '../domain/disk-config.ts';
import type { GroupId } from '../domain/ids.ts';
import type { InvocationPlan } from '../domain/plan.ts';
import type { Measurer } from '../files/measurer.ts';
import type { RunningContainer } from '../runtimes/runtime.ts';
import { createFloor } from './quota-floor.ts';
import type { DiskEnd } from './quota-places.ts';
import { createSpaces } from './quota-space.ts';
import { TurnDisk } from './quota-turn.ts';

export type { DiskEnd } from './quota-places.ts';

/** One look at the free space costs some ten microseconds. */
const TICK_MS = 100;
/** Without turns every so many ticks: a second. */
const IDLE_TICKS = 10;
/** An agent hears of full directories if it is known by then; the turn doesn't wait for a huge tree. */
const JUDGED_WITHIN_MS = 250;

export interface DiskWatchRequest {
  readonly plan: InvocationPlan;
  /** The turn has to end. Called once. */
  readonly end: (end: DiskEnd) => void;
}

/** A turn's own, from staging until its container is gone. */
export interface DiskWatch {
  attach(container: RunningContainer): void;
  /** For the agent, before it begins: what is too full. Empty: nothing is. */
  warning(): Promise<string>;
  /** Idempotent. */
  close(): void;
}

export interface DiskGuardOptions {
  readonly config: DiskConfig;
  /** Paths of the host's own on every file system that matters; those that aren't there are left out. */
  readonly paths: () => readonly string[];
  readonly measurer: Measurer;
  readonly audit: Pick<Audit, 'record'>;
  readonly logger: Logger;
  /** Messages of that chat have to wait; told once for as long as it lasts. */
  readonly onHeld: (chat: GroupId) => void;
}

export interface DiskGuard {
  watch(request: DiskWatchRequest): DiskWatch;
  /** True: no turn of that chat may start now, and the chat is told so. */
  holds(chat: GroupId): boolean;
  /** What is nearly full, for people; empty: nothing. */
  low(): readonly string[];
  /** Looks at the disks now. Never rejects. */
  look(): Promise<void>;
  /** Idempotent. */
  close(): void;
}

const recordEnd = (options: DiskGuardOptions, plan: InvocationPlan, end: DiskEnd): void => {
  const { excess, place, detail, kind } = end;
  const about = { group: plan.group.id, invocation: plan.invocation, tier: plan.tier, place, why: kind, detail };
  const measured = excess === null ? {} : { unit: excess.unit, measured: excess.measured, allowed: excess.allowed };
  try {
    options.audit.record({ kind: 'quota-exceeded', ...about, ...measured });
  } catch (err) {
    // The turn has to end all the more where the disk is too full to say so.
    options.logger.error({ err }, 'an exceeded quota could not be put on record');
  }
};

const settledWithin = async (work: Promise<void>, ms: number): Promise<void> => {
  const late: { timer?: NodeJS.Timeout } = {};
  const timeout = new Promise<void>((resolve) => {
    late.timer = setTimeout(resolve, ms);
  });
  await Promise.race([work, timeout]);
  clearTimeout(late.timer);
};

const createLedge = ({ logger, audit }: DiskGuardOptions, told: Set<GroupId>) => ({
  onLow: (why: readonly string[]): void => {
    const detail = why.join('; ');
    logger.error({ disk: why, hint: 'tierclaw gc; tierclaw doctor' }, 'a disk is nearly full: no turn starts');
    try {
      audit.record({ kind: 'floor-reached', detail });
    } catch (err) {
      logger.error({ err }, 'a disk that is nearly full could not be put on record');
    }
  },
  onRecovered: (): void => {
    told.clear();
    logger.warn('the disks have room again: turns start');
  },
});

const watchTurn = (options: DiskGuardOptions, { plan, end }: DiskWatchRequest): TurnDisk => {
  const onEnd = (why: DiskEnd): void => {
    recordEnd(options, plan, why);
    end(why);
  };
  const onError = (err: unknown): void => options.logger.error({ err }, 'a turn’s disk use could not be measured');
  return new TurnDisk({ plan, measurer: options.measurer, onEnd, onError });
};

const watchOn = (turn: TurnDisk, turns: Set<TurnDisk>): DiskWatch => ({
  attach: (container) => turn.attach(container),
  warning: async () => {
    await settledWithin(turn.judged, JUDGED_WITHIN_MS);
    return turn.warning();
  },
  close: () => {
    turn.close();
    turns.delete(turn);
  },
});

export const createDiskGuard = (options: DiskGuardOptions): DiskGuard => {
  const told = new Set<GroupId>();
  const turns = new Set<TurnDisk>();
  const spaces = createSpaces(options.config, options.paths);
  const floor = createFloor({ spaces, ...createLedge(options, told) });
  const beat = { ticks: 0, isLooking: false };

  const look = async (): Promise<void> => {
    if (beat.isLooking) return;
    beat.isLooking = true;
    await spaces.look();
    beat.isLooking = false;
    const isLow = spaces.low().length > 0;
    const now = performance.now();
    for (const turn of turns) turn.tick(now, spaces.freeBytes(), isLow);
    floor.tick([...turns], now);
  };
  const timer = setInterval(() => {
    beat.ticks += 1;
    if (turns.size > 0 || beat.ticks % IDLE_TICKS === 0) void look();
  }, TICK_MS);

  return {
    watch: (request) => {
      const turn = watchTurn(options, request);
      turns.add(turn);
      return watchOn(turn, turns);
    },
    holds: (chat) => {
      if (floor.low().length === 0) return false;
      if (!told.has(chat)) options.onHeld(chat);
      told.add(chat);
      return true;
    },
    low: floor.low,
    look,
    close: () => clearInterval(timer),
  };
};
