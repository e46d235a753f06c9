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
import { initFrame, type TurnSettings } from './init.ts';
import { createListener, type Listener } from './listen.ts';
import type { CancelReason, Turn } from './queue.ts';
import { type StageDeps, type Staged, stage } from './stage.ts';
import type { InboxOpener } from './turn-inbox.ts';

/** TERM, then this long, then KILL. */
const STOP_GRACE_MS = 1_000;
/**
 * Of the kept conversation, what `init` carries: some 130,000 tokens, so that the request fits a model's context and the
 * gateway's caps. More, and a chat that has talked for long would be refused at every further turn.
 */
const TRANSCRIPT_WINDOW = { maxBytes: 512 * 1024, maxEntries: 200 } as const;

export interface LaunchRequest {
  readonly turn: Turn;
  readonly plan: InvocationPlan;
  readonly messages: readonly InboundMessage[];
  /** When the newest of them came in, ms since 1970. */
  readonly acceptedAt: number;
  readonly mark: (point: keyof Timings) => void;
}

export interface Launch {
  /** Never rejects. */
  readonly ending: Promise<Ending>;
  /** The container is verified gone and everything of the turn closed. Never rejects. */
  readonly gone: Promise<void>;
  transcript(): readonly TranscriptEntry[];
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
  readonly logger: Logger;
}

export type Launcher = (request: LaunchRequest) => Launch;

type Cleanup = () => Promise<void>;

/** One launch while it lasts. */
interface Life {
  readonly request: LaunchRequest;
  readonly listener: Listener;
  readonly cleanups: Cleanup[];
  readonly news: (news: TurnNews) => void;
  /** The first call counts. */
  readonly end: (ending: Ending) => void;
}

interface Opened {
  readonly staged: Staged;
  readonly session: GatewaySession;
  /** Set once it runs; until then there is nobody to poke. */
  container: RunningContainer | null;
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
    socketDirectory: directories.socket,
    provider: plan.model.provider,
    models: deps.models,
    caps: plan.model,
  });
  life.cleanups.push(() => session.close());
  const opened: Opened = { staged, session, container: null };
  const inbox = await deps.openInbox({
    plan,
    directory: directories.ipc,
    poke: () => opened.container?.write(encodeFrame({ type: 'poke' })),
    flooded: (detail) => life.end({ reason: 'disk', detail, cause: null, text: life.listener.streamed() }),
  });
  life.cleanups.push(() => inbox.close());
  mark('stagedMs');
  life.news({ kind: 'staged' });
  return opened;
};

const start = async (deps: LauncherDeps, life: Life, opened: Opened): Promise<RunningContainer> => {
  const { plan, mark } = life.request;
  deps.stores.invocations.update(plan.invocation, { state: 'starting' });
  const container = await deps.runtime.start(containerSpec(plan), life.listener.sink);
  opened.container = container;
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
    const container = await start(deps, life, opened);
    container.write(initOf(deps, life.request, opened.staged.instructions));
    converse(life, opened, container);
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

export const createLauncher =
  (deps: LauncherDeps): Launcher =>
  (request) => {
    const { promise, end } = firstEnding();
    const { group: chat, invocation } = request.turn;
    const news = (item: TurnNews) => deps.feed.publish({ chat, invocation, event: { kind: 'news', news: item } });
    const listener = createListener({ logger: deps.logger, news, end });
    const life: Life = { request, listener, cleanups: [], news, end };
    const unwatch = watch(life);
    news({ kind: 'queued' });
    return { ending: promise, gone: live(deps, life, promise).finally(unwatch), transcript: listener.transcript };
  };
