/**
 * Brings one planned turn to life and takes it down again. Invariants: the first ending wins; the hard limit counts
 * from here; whatever was opened is closed in reverse order, the container verified gone before its directories go.
 */
import type { Logger } from 'pino';
import type { TurnNews } from '../channels/channel.ts';
import type { Timings } from '../domain/invocation.ts';
import type { InboundMessage } from '../domain/message.ts';
import type { InvocationPlan } from '../domain/plan.ts';
import { containerSpec } from '../domain/spec.ts';
import { discardTree } from '../files/tree.ts';
import type { Gateway, GatewaySession } from '../gateway/gateway.ts';
import { type Home, turnDirectories } from '../home.ts';
import { encodeFrame, type TranscriptEntry } from '../protocol.ts';
import type { RunningContainer, Runtime } from '../runtimes/runtime.ts';
import type { Stores } from '../store/stores.ts';
import { type Ending, endingOfCancel, endingOfExit, endingOfFailure, endingOfTimeout } from './ending.ts';
import type { Feed } from './feed.ts';
import { createFollowUps, type FollowUps } from './follow-ups.ts';
import { initFrame, type TurnSettings } from './init.ts';
import type { Inbox } from './ipc.ts';
import { createListener, type Listener, type ListenerOptions } from './listen.ts';
import type { CancelReason, Turn } from './queue.ts';
import { type StageDeps, type Staged, stage, stageStores } from './stage.ts';
import type { InboxOpener } from './turn-inbox.ts';

/** TERM, then this long, then KILL. */
const STOP_GRACE_MS = 1_000;
/** Of the kept conversation, what `init` carries. */
const TRANSCRIPT_WINDOW = { maxBytes: 2 * 1024 * 1024, maxEntries: 400 } as const;

export interface LaunchRequest {
  readonly turn: Turn;
  readonly plan: InvocationPlan;
  readonly messages: readonly InboundMessage[];
  /** When the newest of them came in, ms since 1970. */
  readonly acceptedAt: number;
  readonly mark: (point: keyof Timings) => void;
  /** From now on `offer` reaches the container. */
  readonly onOpen: () => void;
  /** These messages, offered before, are the turn's to answer now. */
  readonly onTaken: (messages: readonly string[]) => void;
}

export interface Launch {
  /** Never rejects. */
  readonly ending: Promise<Ending>;
  /** The container is verified gone and everything of the turn closed. Never rejects. */
  readonly gone: Promise<void>;
  transcript(): readonly TranscriptEntry[];
  /** Follow-ups; to be called after `onOpen` alone. */
  offer(messages: readonly InboundMessage[]): void;
  /** Ids of offered messages that the container did not take in. */
  untouched(): readonly string[];
  /** The agent has sent something into a chat by itself. */
  hasSpoken(): boolean;
}

export interface LauncherDeps {
  readonly home: Home;
  readonly stores: Stores;
  readonly runtime: Runtime;
  readonly gateway: Gateway;
  /** Of the home's provider: what turns may ask for. */
  readonly models: readonly string[];
  readonly openInbox: InboxOpener;
  readonly staging: StageDeps;
  readonly settings: TurnSettings;
  readonly feed: Feed;
  readonly clock: () => number;
  readonly newId: () => string;
  readonly logger: Logger;
}

export type Launcher = (request: LaunchRequest) => Launch;

type Cleanup = () => Promise<void>;

/** One launch while it lasts. */
interface Life {
  readonly request: LaunchRequest;
  readonly listener: Listener;
  readonly followUps: FollowUps;
  readonly cleanups: Cleanup[];
  /** Its parts, as far as they are there yet. */
  readonly parts: { container: RunningContainer | null; inbox: Inbox | null; hasSpoken: boolean };
  readonly news: (news: TurnNews) => void;
  /** The first call counts. */
  readonly end: (ending: Ending) => void;
}

interface Opened {
  readonly staged: Staged;
  readonly session: GatewaySession;
}

/** A promise that the first call decides. */
const firstEnding = () => {
  const first: { decide: (ending: Ending) => void } = { decide: () => {} };
  const promise = new Promise<Ending>((resolve) => {
    first.decide = resolve;
  });
  return { promise, end: first.decide };
};

const open = async (deps: LauncherDeps, life: Life): Promise<Opened> => {
  const { plan, acceptedAt, mark } = life.request;
  const directories = turnDirectories(deps.home, plan.group.folder, plan.invocation);
  life.cleanups.push(async () => {
    for (const path of Object.values(directories)) await discardTree(path, deps.home.trash);
  });
  const staged = await stage({ plan, directories, notBefore: acceptedAt }, deps.staging);
  const session = await deps.gateway.open({
    invocation: plan.invocation,
    group: plan.group.id,
    socketDirectory: directories.socket,
    provider: plan.model.provider,
    models: deps.models,
    caps: plan.model,
  });
  life.cleanups.push(async () => {
    await session.close();
    deps.stores.receipts.recordUse(plan.invocation, session.use());
  });
  const inbox = await deps.openInbox({
    plan,
    directory: directories.ipc,
    poke: () => life.parts.container?.write(encodeFrame({ type: 'poke' })),
    spoken: () => {
      life.parts.hasSpoken = true;
    },
    flooded: (detail) => life.end({ reason: 'disk', detail, cause: null, text: life.listener.streamed() }),
  });
  life.parts.inbox = inbox;
  life.cleanups.push(() => inbox.close());
  mark('stagedMs');
  life.news({ kind: 'staged' });
  return { staged, session };
};

const start = async (deps: LauncherDeps, life: Life): Promise<RunningContainer> => {
  const { plan, mark } = life.request;
  deps.stores.invocations.update(plan.invocation, { state: 'starting' });
  const container = await deps.runtime.start(containerSpec(plan), life.listener.sink);
  life.parts.container = container;
  life.cleanups.push(() => container.remove(STOP_GRACE_MS));
  mark('startedMs');
  life.news({ kind: 'started' });
  deps.stores.invocations.update(plan.invocation, { state: 'running' });
  return container;
};

const initOf = (deps: LauncherDeps, { turn, plan, messages }: LaunchRequest, instructions: string): string => {
  const { group, session } = turn;
  const transcript = deps.stores.sessions.transcript({ group, session, ...TRANSCRIPT_WINDOW });
  return encodeFrame(initFrame({ plan, settings: deps.settings, instructions, transcript, messages }));
};

/** From here on the container talks; everything that can end its turn is listened to. */
const converse = (life: Life, { session, staged }: Opened, container: RunningContainer): void => {
  const { turn, mark } = life.request;
  session.firstModelRequest.then(() => {
    mark('firstModelRequestMs');
    life.news({ kind: 'thinking' });
  });
  staged.store.then((made) => (made.ok ? undefined : life.end(endingOfFailure(made.error))));
  container.exited.then((report) => life.end(endingOfExit(report, life.listener.streamed())));
  const stop = (): void => container.write(encodeFrame({ type: 'stop', reason: 'cancelled' }));
  turn.cancelled.addEventListener('abort', stop, { once: true });
};

const unwind = async (cleanups: readonly Cleanup[], logger: Logger): Promise<void> => {
  for (const cleanup of [...cleanups].reverse()) {
    // Each step must run whatever the one before it met; what is left behind, the next sweep removes.
    await cleanup().catch((err: unknown) => logger.error({ err }, 'a turn could not be cleaned up'));
  }
};

const live = async (deps: LauncherDeps, life: Life, ending: Promise<Ending>): Promise<void> => {
  try {
    const opened = await open(deps, life);
    const container = await start(deps, life);
    container.write(initOf(deps, life.request, opened.staged.instructions));
    converse(life, opened, container);
    life.request.onOpen();
  } catch (thrown) {
    life.end(endingOfFailure(thrown));
  }
  await ending;
  await unwind(life.cleanups, deps.logger);
};

/** What ends a turn from outside of it: its limit and its cancelling. Returns what takes them back. */
const watch = ({ request, listener, end }: Life): (() => void) => {
  const { cancelled } = request.turn;
  const { wallMs } = request.plan.limits;
  const onCancel = () => end(endingOfCancel(cancelled.reason as CancelReason, listener.streamed()));
  cancelled.addEventListener('abort', onCancel);
  const timer = wallMs === null ? null : setTimeout(() => end(endingOfTimeout(wallMs, listener.streamed())), wallMs);
  return () => {
    cancelled.removeEventListener('abort', onCancel);
    if (timer !== null) clearTimeout(timer);
  };
};

const followUpsOf = (deps: LauncherDeps, { plan }: LaunchRequest, parts: Life['parts']): FollowUps =>
  createFollowUps({
    newId: deps.newId,
    refresh: () => {
      const directories = turnDirectories(deps.home, plan.group.folder, plan.invocation);
      return stageStores({ plan, directories, notBefore: deps.clock() }, deps.staging);
    },
    put: async (id, message) => (await parts.inbox?.addFollowUp(id, message)) ?? false,
    onError: (err) => deps.logger.error({ err }, 'a follow-up could not be handed over; the next turn answers it'),
  });

const begin = (deps: LauncherDeps, request: LaunchRequest, end: Life['end']): Life => {
  const { group: chat, invocation } = request.turn;
  const parts: Life['parts'] = { container: null, inbox: null, hasSpoken: false };
  const followUps = followUpsOf(deps, request, parts);
  const news: Life['news'] = (item) => deps.feed.publish({ chat, invocation, event: { kind: 'news', news: item } });
  const acknowledged = (ids: readonly string[]): void => request.onTaken(followUps.acknowledge(ids));
  const keep: ListenerOptions['keep'] = (receipt) => deps.stores.receipts.add(invocation, receipt);
  const listener = createListener({ logger: deps.logger, news, keep, acknowledged, end });
  return { request, listener, followUps, parts, cleanups: [], news, end };
};

export const createLauncher =
  (deps: LauncherDeps): Launcher =>
  (request) => {
    const { promise, end } = firstEnding();
    const life = begin(deps, request, end);
    const unwatch = watch(life);
    life.news({ kind: 'queued' });
    return {
      ending: promise,
      gone: live(deps, life, promise).finally(unwatch),
      transcript: life.listener.transcript,
      offer: life.followUps.offer,
      untouched: life.followUps.untouched,
      hasSpoken: () => life.parts.hasSpoken,
    };
  };
