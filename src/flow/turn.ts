/**
 * One turn, from dispatch to container gone: plan → stage → launch → outcome → reply. Invariants: the hard limit counts
 * from dispatch whatever the container does; the first ending wins; however it ends, the container is verified gone,
 * the socket closed, the directories discarded, the messages marked and the record true.
 */
import type { Logger } from 'pino';
import type { Group } from '../domain/group.ts';
import type { InvocationRecord, Timings } from '../domain/invocation.ts';
import type { InboundMessage } from '../domain/message.ts';
import { noticeFor } from '../domain/notice.ts';
import type { InvocationPlan } from '../domain/plan.ts';
import { withLogContext } from '../logger.ts';
import type { Stores } from '../store/stores.ts';
import type { Ending } from './ending.ts';
import type { Feed, TurnEvent } from './feed.ts';
import type { Launcher } from './launch.ts';
import type { CancelReason, Turn } from './queue.ts';
import type { Replier } from './reply.ts';

export interface TurnDeps {
  readonly stores: Stores;
  readonly feed: Feed;
  readonly replier: Replier;
  readonly launch: Launcher;
  readonly plan: (group: Group, turn: Turn) => InvocationPlan;
  readonly clock: () => number;
  readonly logger: Logger;
}

/** Messages that one turn answers at most; the rest wait for the next. */
const MESSAGES_MAX = 50;
/** Their text in all: keeps `init` far below its 16 MiB whatever the characters. */
const MESSAGE_CHARS_MAX = 1_500_000;

/** Milliseconds since the first message was accepted, set as the turn passes. */
type Marks = { -readonly [K in keyof Timings]: Timings[K] };

const newRecord = (turn: Turn, plan: InvocationPlan, at: { timings: Timings; now: number }): InvocationRecord => ({
  id: turn.invocation,
  group: turn.group,
  session: turn.session,
  tier: plan.tier,
  agent: plan.agent,
  state: 'staging',
  reason: null,
  detail: null,
  timings: at.timings,
  createdAt: new Date(at.now).toISOString(),
});

/** What a turn took out of the queue. */
interface Taken {
  readonly turn: Turn;
  readonly messages: readonly InboundMessage[];
  /** When the oldest and the newest of them came in, ms since 1970. */
  readonly acceptedAt: number;
  readonly newestAt: number;
}

/** A shutdown cut it off: its messages go back into the queue, and the chat hears nothing. */
const isCut = ({ cancelled }: Turn): boolean => cancelled.aborted && (cancelled.reason as CancelReason) === 'shutdown';

const settleMessages = (stores: Stores, turn: Turn, ending: Ending): void => {
  if (ending.reason !== 'completed' && isCut(turn)) stores.inbound.requeue(turn.invocation);
  else stores.inbound.finish(turn.invocation, ending.reason === 'completed' ? 'done' : 'failed');
};

const wordsFor = (turn: Turn, ending: Ending): string[] => {
  const text = ending.text === null ? [] : [ending.text];
  if (ending.reason === 'completed') return text;
  if (isCut(turn)) return []; // The next turn answers from the start: half of an answer now would be said twice.
  return [...text, noticeFor(ending.reason, ending.cause, turn.invocation)];
};

const newMarks = (queuedMs: number): Marks => ({
  queuedMs,
  stagedMs: null,
  startedMs: null,
  firstModelRequestMs: null,
  totalMs: null,
});

export const createTurnRunner = (deps: TurnDeps): ((turn: Turn) => Promise<void>) => {
  const { stores, feed, clock } = deps;

  const publish = (turn: Turn, event: TurnEvent): void =>
    feed.publish({ chat: turn.group, invocation: turn.invocation, event });

  const conclude = async (taken: Taken, ending: Ending, marks: Marks): Promise<void> => {
    const { turn } = taken;
    for (const text of wordsFor(turn, ending)) {
      await deps.replier.deliver({ chat: turn.group, text, invocation: turn.invocation });
    }
    const { reason, detail, text } = ending;
    const timings = { ...marks, totalMs: clock() - taken.acceptedAt };
    settleMessages(stores, turn, ending);
    stores.invocations.end(turn.invocation, { reason, detail, timings });
    publish(turn, { kind: 'done', reason, detail, reply: text, timings });
    deps.logger[reason === 'completed' ? 'info' : 'warn']({ reason, detail, ...timings }, 'turn ended');
  };

  const run = async (taken: Taken, plan: InvocationPlan): Promise<void> => {
    const { turn, messages, acceptedAt } = taken;
    const marks = newMarks(clock() - acceptedAt);
    stores.invocations.create(newRecord(turn, plan, { timings: marks, now: clock() }));
    publish(turn, { kind: 'taken', messages: messages.map(({ id }) => id) });
    const mark = (point: keyof Timings): void => {
      marks[point] = clock() - acceptedAt;
    };
    const launch = deps.launch({ turn, plan, messages, acceptedAt: taken.newestAt, mark });
    const ending = await launch.ending;
    if (ending.reason === 'completed') {
      const { group, session } = turn;
      stores.sessions.appendTranscript({ group, session, entries: launch.transcript() });
    }
    await conclude(taken, ending, marks);
    await launch.gone;
  };

  return async (turn) => {
    const group = stores.groups.find(turn.group);
    const rows = stores.inbound.take({ ...turn, max: MESSAGES_MAX, maxChars: MESSAGE_CHARS_MAX });
    if (group === null || rows.length === 0) return stores.inbound.finish(turn.invocation, 'failed');
    const times = rows.map(({ receivedAt }) => receivedAt);
    const messages = rows.map(({ message }) => message);
    const taken: Taken = { turn, messages, acceptedAt: Math.min(...times), newestAt: Math.max(...times) };
    const plan = deps.plan(group, turn);
    const { invocation, session } = turn;
    const context = { group: group.folder, tier: plan.tier, agent: plan.agent, invocation, session };
    await withLogContext(context, () => run(taken, plan));
  };
};
