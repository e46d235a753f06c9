/**
 * Brings one planned turn to life and takes it down again. Invariants: the first ending wins; the hard limit counts
 * from here; whatever was opened is closed in reverse order, the container verified gone before its directories go.
 */
import type { Logger } from 'pino';
import type { InvocationState } from '../domain/invocation.ts';
import type { InboundMessage } from '../domain/message.ts';
import type { InvocationPlan } from '../domain/plan.ts';
import { containerSpec } from '../domain/spec.ts';
import { discardTrees } from '../files/tree.ts';
import type { GatewaySession } from '../gateway/gateway.ts';
import { turnDirectories } from '../home.ts';
import { encodeFrame, type TranscriptEntry } from '../protocol.ts';
import type { RunningContainer } from '../runtimes/runtime.ts';
import { credentialEnvironment } from './credential-environment.ts';
import { type Ending, endingOfDisk, endingOfExit, endingOfFailure } from './ending.ts';
import { initFrame } from './init.ts';
import {
  beginLife,
  type Cleanup,
  firstEnding,
  type LauncherDeps,
  type LaunchRequest,
  type Life,
  type LifeDeps,
  watchLimits,
} from './life.ts';
import { createPace } from './pace.ts';
import type { DiskEnd } from './quota.ts';
import { cleanedEnding } from './redaction.ts';
import { type Staged, stage } from './stage.ts';

/** TERM, then this long, then KILL. */
const STOP_GRACE_MS = 1_000;
/** Of the kept conversation, what `init` carries at most: some 130,000 tokens, so that it fits a model's context. */
const TRANSCRIPT_BYTES_MAX = 512 * 1024;
const TRANSCRIPT_ENTRIES_MAX = 200;
/** Every turn sends it again: one long message must not use up a chat's whole day. */
const SHARE_OF_DAY = 1 / 20;
const BYTES_PER_TOKEN = 4;

const transcriptBytes = ({ model: { tokensPerDay } }: InvocationPlan): number =>
  tokensPerDay === null
    ? TRANSCRIPT_BYTES_MAX
    : Math.min(TRANSCRIPT_BYTES_MAX, Math.floor(tokensPerDay * SHARE_OF_DAY * BYTES_PER_TOKEN));

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

export type Launcher = (request: LaunchRequest) => Launch;

interface Opened {
  readonly staged: Staged;
  readonly session: GatewaySession;
}

/** What isn't on record doesn't run. Throws AppError `audit`. */
const putOnRecord = ({ audit }: LauncherDeps, { plan, turn, messages }: LaunchRequest): void => {
  const { group, invocation, tier, agent, image } = plan;
  const { session } = turn;
  audit.record({
    kind: 'turn-started',
    group: group.id,
    invocation,
    tier,
    agent,
    session,
    image,
    messages: messages.length,
  });
};

/** From here until the container is gone. */
const watchDisk = (deps: LauncherDeps, life: Life): void => {
  const end = (why: DiskEnd): void => life.end(endingOfDisk(why, life.listener.streamed()));
  const watch = deps.disk.watch({ plan: life.request.plan, end });
  life.parts.disk = watch;
  life.cleanups.push(async () => watch.close());
};

const open = async (deps: LauncherDeps, life: Life): Promise<Opened> => {
  const { plan, acceptedAt, mark } = life.request;
  putOnRecord(deps, life.request);
  const directories = turnDirectories(deps.home, plan.group.folder, plan.invocation);
  life.cleanups.push(async () => {
    await discardTrees(Object.values(directories), deps.home.trash);
  });
  const staged = await stage({ plan, directories, notBefore: acceptedAt }, deps.staging);
  const session = await deps.gateway.open({
    invocation: plan.invocation,
    group: plan.group.id,
    socketDirectory: directories.socket,
    provider: plan.model.provider,
    models: deps.models,
    caps: plan.model,
    tier: plan.tier,
    egress: plan.egress,
    credentials: plan.credentials.routes,
  });
  life.parts.session = session;
  life.cleanups.push(async () => {
    await session.close();
    await deps.stores.whenFree(() => deps.stores.receipts.recordUse(plan.invocation, session.use()));
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
  watchDisk(deps, life);
  life.parts.inbox = inbox;
  life.cleanups.push(() => inbox.close());
  mark('stagedMs');
  life.news({ kind: 'staged' });
  return { staged, session };
};

const start = async (deps: LauncherDeps, life: Life): Promise<RunningContainer> => {
  const { plan, mark } = life.request;
  const enter = (state: InvocationState) =>
    deps.stores.whenFree(() => deps.stores.invocations.update(plan.invocation, { state }));
  await enter('starting');
  const spec = containerSpec(plan);
  // Not a moment earlier: no plan, record or label has ever held a value.
  const env = { ...credentialEnvironment(plan, deps), ...spec.env };
  const container = await deps.runtime.start({ ...spec, env }, life.listener.sink);
  life.parts.container = container;
  life.parts.disk?.attach(container);
  // Whoever fills a disk goes on with it for as long as he lives.
  life.cleanups.push(({ reason }) => container.remove(reason === 'disk' ? 0 : STOP_GRACE_MS));
  mark('startedMs');
  life.news({ kind: 'started' });
  await enter('running');
  return container;
};

const initOf = (deps: LauncherDeps, { turn, plan, messages }: LaunchRequest, instructions: string): string => {
  const { group, session } = turn;
  const window = { maxBytes: transcriptBytes(plan), maxEntries: TRANSCRIPT_ENTRIES_MAX };
  const transcript = deps.stores.sessions.transcript({ group, session, ...window });
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
  container.exited.then(async (report) => {
    await life.listener.settled(); // Its last words may say how it ended.
    life.end(endingOfExit(report, life.listener.streamed()));
  });
  const stop = (): void => container.write(encodeFrame({ type: 'stop', reason: 'cancelled' }));
  turn.cancelled.addEventListener('abort', stop, { once: true });
};

const unwind = async (cleanups: readonly Cleanup[], ending: Ending, logger: Logger): Promise<void> => {
  for (const cleanup of [...cleanups].reverse()) {
    // Each step must run whatever the one before it met; what is left behind, the next sweep removes.
    await cleanup(ending).catch((err: unknown) => logger.error({ err }, 'a turn could not be cleaned up'));
  }
};

const live = async (deps: LauncherDeps, life: Life, ending: Promise<Ending>): Promise<void> => {
  try {
    const opened = await open(deps, life);
    const container = await start(deps, life);
    const warning = (await life.parts.disk?.warning()) ?? '';
    container.write(initOf(deps, life.request, opened.staged.instructions + warning));
    converse(life, opened, container);
    life.request.onOpen();
  } catch (thrown) {
    life.end(endingOfFailure(thrown));
  }
  const ended = await ending;
  // What it still prints is nobody's business, and a flood of it would cost the event loop until it is gone.
  life.parts.container?.discardOutput();
  life.listener.discard();
  await unwind(life.cleanups, ended, deps.logger);
};

const launch = (deps: LifeDeps, request: LaunchRequest): Launch => {
  const { promise, end } = firstEnding();
  const life = beginLife(deps, request, (ending) => end(cleanedEnding(ending, deps.secrets)));
  const unwatch = watchLimits(life);
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

export const createLauncher = (deps: LauncherDeps): Launcher => {
  const shared: LifeDeps = { ...deps, pace: createPace() };
  return (request) => launch(shared, request);
};
