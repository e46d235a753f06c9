/**
 * Which turn runs next. Invariants: one turn at a time per (group, session), at most `concurrent` in all; the state
 * database is the queue, so that a restart finds what was waiting; here only the slots are remembered.
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
  /** Sessions with messages to answer, the longest waiting first. */
  readonly waiting: () => readonly WaitingSession[];
  readonly newInvocation: () => InvocationId;
  /** Runs one turn to its end, cleanup included. */
  readonly run: (turn: Turn) => Promise<void>;
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

export const createQueue = (options: QueueOptions): Queue => {
  const slots = new Map<string, Slot>();
  let closed = false;

  const slotOf = (waiting: WaitingSession): Slot =>
    slots.get(keyOf(waiting.group, waiting.session)) ?? { state: 'idle' };

  const running = (): Running[] => [...slots.values()].flatMap((slot) => (slot.state === 'running' ? [slot] : []));

  const start = ({ group, session }: WaitingSession): void => {
    const cancel = new AbortController();
    const turn: Turn = { invocation: options.newInvocation(), group, session, cancelled: cancel.signal };
    const ended = runTurn(options, turn).finally(() => {
      slots.delete(keyOf(group, session));
      wake();
    });
    slots.set(keyOf(group, session), { state: 'running', turn, cancel, ended });
  };

  const wake = (): void => {
    if (closed) return;
    const free = options.concurrent - running().length;
    if (free <= 0) return;
    const ready = options.waiting().filter((waiting) => slotOf(waiting).state === 'idle');
    for (const waiting of ready.slice(0, free)) start(waiting);
  };

  const cancel = (invocation: string): boolean => {
    const slot = running().find(({ turn }) => turn.invocation === invocation);
    slot?.cancel.abort('person' satisfies CancelReason);
    return slot !== undefined;
  };

  return {
    wake,
    running: () => running().map(({ turn }) => turn),
    cancel,
    close: async () => {
      closed = true;
      for (const { cancel: cut } of running()) cut.abort('shutdown' satisfies CancelReason);
      await Promise.all(running().map(({ ended }) => ended));
    },
  };
};
