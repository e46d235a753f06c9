/**
 * Which turn runs next. Invariants: one turn at a time per (group, session), at most `concurrent` in all; who was
 * served longest ago comes first, however much the others queue; the state database is the queue, so that a restart
 * finds what was waiting, and here only the slots and the turns' order are remembered.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { GroupId, InvocationId, SessionName } from '../domain/ids.ts';

/** A person's cancel ends the matter; a shutdown puts the messages back into the queue. */
export type CancelReason = 'person' | 'shutdown';

/** A bug in `run` must not spin: its slot is held this long. */
const BUG_PAUSE_MS = 1000;

export interface WaitingSession {
  readonly group: GroupId;
  readonly session: SessionName;
  readonly messages: number;
  /** Not before this moment, ms since 1970. */
  readonly notBefore: number;
}

export interface Turn {
  readonly invocation: InvocationId;
  readonly group: GroupId;
  readonly session: SessionName;
  /** Aborted when the turn is to end early; its `reason` is a CancelReason. */
  readonly cancelled: AbortSignal;
}

interface Running {
  readonly state: 'running';
  readonly turn: Turn;
  readonly cancel: AbortController;
  readonly ended: Promise<void>;
}

type Slot = Running | { readonly state: 'idle' };

export interface QueueOptions {
  readonly concurrent: number;
  /** Sessions with messages to answer, in the order of their oldest message. */
  readonly waiting: () => readonly WaitingSession[];
  readonly newInvocation: () => InvocationId;
  /** True: no turn may start for it now, and it is asked again later. Only asked where one would start. */
  readonly isHeld?: (waiting: WaitingSession) => boolean;
  /** Runs one turn to its end, cleanup included. */
  readonly run: (turn: Turn) => Promise<void>;
  /** Messages wait for the session of a turn that runs: it may take them in. */
  readonly follow: (turn: Turn) => void;
  readonly clock: () => number;
  /** A turn's own failure is reported by the turn; what arrives here is a bug. */
  readonly onBug: (turn: Turn, thrown: unknown) => unknown;
}

export interface Queue {
  /** Looks for work. Cheap; call it whenever something may have changed. */
  wake(): void;
  running(): readonly Turn[];
  /** False when no such turn runs. */
  cancel(invocation: string): boolean;
  /** Starts nothing more, cancels what runs, resolves when all turns have ended. */
  close(): Promise<void>;
}

const report = async ({ onBug }: QueueOptions, turn: Turn, thrown: unknown): Promise<void> => {
  try {
    await onBug(turn, thrown);
  } catch {
    // What broke the turn, a full disk say, breaks its report as well; that must not end the process of all chats.
  }
};

/** Runs it to its end; never rejects. */
const runTurn = async (options: QueueOptions, turn: Turn): Promise<void> => {
  try {
    await options.run(turn);
  } catch (thrown) {
    await report(options, turn, thrown);
    await delay(BUG_PAUSE_MS);
  }
};

const keyOf = (group: GroupId, session: SessionName): string => `${session} ${group}`;

/** No retry lies further ahead: what does was dated by a clock that has been set back since. */
const NOT_BEFORE_AHEAD_MAX_MS = 10 * 60_000;

const isReady = ({ notBefore }: WaitingSession, now: number): boolean =>
  notBefore <= now || notBefore > now + NOT_BEFORE_AHEAD_MAX_MS;

class RoundRobinQueue implements Queue {
  readonly #options: QueueOptions;
  readonly #slots = new Map<string, Slot>();
  /** In which order sessions were served last. */
  readonly #served = new Map<string, number>();
  #turns = 0;
  #closed = false;

  constructor(options: QueueOptions) {
    this.#options = options;
  }

  wake(): void {
    if (this.#closed) return;
    const ready = this.#options.waiting().filter((waiting) => isReady(waiting, this.#options.clock()));
    for (const waiting of ready) {
      const slot = this.#slotOf(waiting);
      if (slot.state === 'running') this.#options.follow(slot.turn);
    }
    this.#startReady(ready.filter((waiting) => this.#slotOf(waiting).state === 'idle'));
  }

  running(): readonly Turn[] {
    return this.#running().map(({ turn }) => turn);
  }

  cancel(invocation: string): boolean {
    const slot = this.#running().find(({ turn }) => turn.invocation === invocation);
    slot?.cancel.abort('person' satisfies CancelReason);
    return slot !== undefined;
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const { cancel } of this.#running()) cancel.abort('shutdown' satisfies CancelReason);
    await Promise.all(this.#running().map(({ ended }) => ended));
  }

  /** A turn's end has nobody to tell that the database could not be read; upkeep looks again within a second. */
  #wakeSafely(): void {
    try {
      this.wake();
    } catch {
      // As said: nothing is lost by looking later.
    }
  }

  #running(): Running[] {
    return [...this.#slots.values()].flatMap((slot) => (slot.state === 'running' ? [slot] : []));
  }

  #slotOf({ group, session }: WaitingSession): Slot {
    return this.#slots.get(keyOf(group, session)) ?? { state: 'idle' };
  }

  #startReady(idle: readonly WaitingSession[]): void {
    const lastServed = ({ group, session }: WaitingSession) => this.#served.get(keyOf(group, session)) ?? 0;
    // A stable sort: among those never served, the longest waiting stays first.
    const order = [...idle].sort((a, b) => lastServed(a) - lastServed(b));
    const free = Math.max(0, this.#options.concurrent - this.#running().length);
    const isHeld = this.#options.isHeld ?? (() => false);
    for (const waiting of order.slice(0, free)) if (!isHeld(waiting)) this.#start(waiting);
  }

  #start({ group, session }: WaitingSession): void {
    const key = keyOf(group, session);
    this.#turns += 1;
    this.#served.set(key, this.#turns);
    const cancel = new AbortController();
    const turn: Turn = { invocation: this.#options.newInvocation(), group, session, cancelled: cancel.signal };
    const ended = runTurn(this.#options, turn).finally(() => {
      this.#slots.delete(key);
      this.#wakeSafely();
    });
    this.#slots.set(key, { state: 'running', turn, cancel, ended });
  }
}

export const createQueue = (options: QueueOptions): Queue => new RoundRobinQueue(options);
