/**
 * One turn, from dispatch to container gone: plan → stage → launch → outcome → reply. Invariants: the hard limit counts
 * from dispatch whatever the container does; the first ending wins; however it ends, the container is verified gone,
 * the socket closed, the directories discarded, the messages marked and the record true.
 */
import type { Logger } from 'pino';
import type { Group } from '../domain/group.ts';
import type { InvocationId } from '../domain/ids.ts';
import type { InvocationRecord, Timings } from '../domain/invocation.ts';
import type { InvocationPlan } from '../domain/plan.ts';
import { withLogContext } from '../logger.ts';
import { isBusy } from '../store/patience.ts';
import { endingOfFailure } from './ending.ts';
import type { Feed, TurnEvent } from './feed.ts';
import type { Launch, Launcher } from './launch.ts';
import type { Turn } from './queue.ts';
import { eventOf, type SettleDeps, settle, type Taken, type TurnEnd } from './settle.ts';

export interface TurnDeps extends SettleDeps {
  readonly feed: Feed;
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

const newMarks = (queuedMs: number): Marks => ({
  queuedMs,
  stagedMs: null,
  startedMs: null,
  firstModelRequestMs: null,
  totalMs: null,
});

/** A turn while it runs, for follow-ups. */
interface Live {
  readonly launch: Launch;
  isOpen: boolean;
}

interface Context {
  readonly deps: TurnDeps;
  readonly lives: Map<InvocationId, Live>;
}

const publish = ({ deps }: Context, turn: Turn, event: TurnEvent): void =>
  deps.feed.publish({ chat: turn.group, invocation: turn.invocation, event });

const take = ({ deps }: Context, turn: Turn) =>
  deps.stores.inbound.take({ ...turn, max: MESSAGES_MAX, maxChars: MESSAGE_CHARS_MAX });

/** Where the database is locked it does nothing: whoever looks for work asks again. */
const follow = (context: Context, turn: Turn): void => {
  const live = context.lives.get(turn.invocation);
  if (live?.isOpen !== true) return;
  try {
    live.launch.offer(take(context, turn).map(({ message }) => message));
  } catch (thrown) {
    if (!isBusy(thrown)) throw thrown;
  }
};

const launch = (context: Context, taken: Taken, marks: Marks): Launch => {
  const { deps, lives } = context;
  const { turn, plan, messages, acceptedAt, newestAt } = taken;
  const launched = deps.launch({
    turn,
    plan,
    messages,
    acceptedAt: newestAt,
    mark: (point) => {
      marks[point] = deps.clock() - acceptedAt;
    },
    onOpen: () => {
      const live = lives.get(turn.invocation);
      if (live === undefined) return; // It ended while it was being started.
      live.isOpen = true;
      follow(context, turn);
    },
    onTaken: (ids) => publish(context, turn, { kind: 'taken', messages: ids }),
  });
  lives.set(turn.invocation, { launch: launched, isOpen: false });
  return launched;
};

const conclude = async (context: Context, end: TurnEnd): Promise<void> => {
  const { deps, lives } = context;
  const { turn } = end.taken;
  const { reason, detail } = end.ending;
  const settled = await deps.stores.whenFree(() => {
    const done = settle(deps, end);
    // In one step: what it would be offered afterwards, nobody would settle.
    lives.delete(turn.invocation);
    return done;
  });
  for (const posted of settled.posted) await deps.replier.send(posted);
  publish(context, turn, eventOf(settled.outcome, end.ending, end.timings));
  const level = reason === 'completed' ? 'info' : 'warn';
  deps.logger[level]({ reason, detail, fate: settled.outcome.kind, ...end.timings }, 'turn ended');
};

const runTaken = async (context: Context, taken: Taken): Promise<void> => {
  const { deps, lives } = context;
  const { turn, plan, messages, acceptedAt } = taken;
  const marks = newMarks(deps.clock() - acceptedAt);
  const record = newRecord(turn, plan, { timings: marks, now: deps.clock() });
  await deps.stores.whenFree(() => deps.stores.invocations.create(record));
  publish(context, turn, { kind: 'taken', messages: messages.map(({ id }) => id) });
  const launched = launch(context, taken, marks);
  try {
    const ending = await launched.ending;
    marks.totalMs = deps.clock() - acceptedAt;
    await conclude(context, { taken, launch: launched, ending, timings: marks });
  } catch (thrown) {
    // A full disk, say: nothing of it was settled, so the messages are still this turn's and the next start's to answer.
    const { reason, detail } = endingOfFailure(thrown);
    publish(context, turn, { kind: 'done', reason, detail, reply: null, timings: { ...marks } });
    throw thrown;
  } finally {
    lives.delete(turn.invocation);
    await launched.gone;
  }
};

/** Its chat was unregistered while they waited. */
const giveUp = async ({ deps }: Context, { invocation }: Turn): Promise<void> => {
  const outcome = { kind: 'dead', error: 'the chat is not registered any more' } as const;
  await deps.stores.whenFree(() => deps.stores.inbound.settle({ invocation, untouched: [], outcome }));
};

const run = async (context: Context, turn: Turn): Promise<void> => {
  const { deps } = context;
  const group = deps.stores.groups.find(turn.group);
  const rows = await deps.stores.whenFree(() => take(context, turn));
  if (rows.length === 0) return;
  if (group === null) return giveUp(context, turn);
  const times = rows.map(({ receivedAt }) => receivedAt);
  const taken: Taken = {
    turn,
    plan: deps.plan(group, turn),
    messages: rows.map(({ message }) => message),
    acceptedAt: Math.min(...times),
    newestAt: Math.max(...times),
  };
  const { tier, agent } = taken.plan;
  const { invocation, session } = turn;
  await withLogContext({ group: group.folder, tier, agent, invocation, session }, () => runTaken(context, taken));
};

export interface TurnRunner {
  run(turn: Turn): Promise<void>;
  /** Messages wait for its session: they are handed to it if it can take them. */
  follow(turn: Turn): void;
}

export const createTurnRunner = (deps: TurnDeps): TurnRunner => {
  const context: Context = { deps, lives: new Map() };
  return { run: (turn) => run(context, turn), follow: (turn) => follow(context, turn) };
};
