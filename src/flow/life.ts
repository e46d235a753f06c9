/**
 * One launch while it lasts: what it was asked, what it has opened, how it is ended. Invariant: the first ending wins.
 */
import type { Logger } from 'pino';
import type { Audit } from '../audit.ts';
import type { TurnNews } from '../channels/channel.ts';
import type { InvocationId } from '../domain/ids.ts';
import type { Timings } from '../domain/invocation.ts';
import type { InboundMessage } from '../domain/message.ts';
import { gatewayCause, providerCause } from '../domain/notice.ts';
import type { InvocationPlan } from '../domain/plan.ts';
import type { Gateway, GatewaySession } from '../gateway/gateway.ts';
import { type Home, turnDirectories } from '../home.ts';
import type { RunningContainer, Runtime } from '../runtimes/runtime.ts';
import type { Secrets } from '../secrets.ts';
import { RECEIPTS_MAX } from '../store/receipts.ts';
import type { Stores } from '../store/stores.ts';
import { type Ending, endingOfCancel, endingOfTimeout } from './ending.ts';
import type { Feed } from './feed.ts';
import { createFollowUps, type FollowUps } from './follow-ups.ts';
import type { TurnSettings } from './init.ts';
import type { Inbox } from './ipc.ts';
import { createListener, type Listener, type ListenerOptions } from './listen.ts';
import type { Pace } from './pace.ts';
import type { CancelReason, Turn } from './queue.ts';
import type { DiskGuard, DiskWatch } from './quota.ts';
import { type StageDeps, stageStores } from './stage.ts';
import type { InboxOpener } from './turn-inbox.ts';

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

export interface LauncherDeps {
  readonly home: Home;
  readonly stores: Stores;
  readonly audit: Audit;
  /** Of all; a container is given those alone that its plan names. */
  readonly secrets: Secrets;
  readonly runtime: Runtime;
  readonly gateway: Gateway;
  /** Of the home's provider: what turns may ask for. */
  readonly models: readonly string[];
  readonly openInbox: InboxOpener;
  readonly disk: DiskGuard;
  readonly staging: StageDeps;
  readonly settings: TurnSettings;
  readonly feed: Feed;
  readonly clock: () => number;
  readonly newId: () => string;
  readonly logger: Logger;
}

export interface LifeDeps extends LauncherDeps {
  readonly pace: Pace;
}

/** Told how the turn has ended. */
export type Cleanup = (ending: Ending) => Promise<void>;

/** One launch while it lasts. */
export interface Life {
  readonly request: LaunchRequest;
  readonly listener: Listener;
  readonly followUps: FollowUps;
  readonly cleanups: Cleanup[];
  /** Its parts, as far as they are there yet. */
  readonly parts: {
    container: RunningContainer | null;
    inbox: Inbox | null;
    session: GatewaySession | null;
    disk: DiskWatch | null;
    hasSpoken: boolean;
  };
  readonly news: (news: TurnNews) => void;
  /** The first call counts. */
  readonly end: (ending: Ending) => void;
}

/** A promise that the first call decides. */
export const firstEnding = () => {
  const first: { decide: (ending: Ending) => void } = { decide: () => {} };
  const promise = new Promise<Ending>((resolve) => {
    first.decide = resolve;
  });
  return { promise, end: first.decide };
};

/** What ends a turn from outside of it: its limit and its cancelling. Returns what takes them back. */
export const watchLimits = ({ request, listener, end }: Life): (() => void) => {
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

/** The container knows of a status; whether the provider gave it, the gateway knows. */
const blame = (ending: Ending, session: GatewaySession | null): Ending => {
  const refused = session?.use().refused ?? null;
  return refused !== null && providerCause(refused.status) === ending.cause
    ? { ...ending, cause: gatewayCause(refused.status, refused.cap !== null) }
    : ending;
};

/** In the line of all that waits for a locked database, a container's claims are bounded like everywhere else. */
const receiptKeeper = ({ stores, logger }: LauncherDeps, invocation: InvocationId): ListenerOptions['keep'] => {
  const kept = { asked: 0, isOpen: true };
  return (receipt) => {
    kept.asked += 1;
    if (kept.asked > RECEIPTS_MAX) return false;
    stores
      .whenFree(() => stores.receipts.add(invocation, receipt))
      .catch((err: unknown) => {
        if (kept.isOpen) logger.error({ err }, 'tool calls of this turn can’t be kept');
        kept.isOpen = false;
      });
    return kept.isOpen;
  };
};

export const beginLife = (deps: LifeDeps, request: LaunchRequest, end: Life['end']): Life => {
  const { group: chat, invocation } = request.turn;
  const parts: Life['parts'] = { container: null, inbox: null, session: null, disk: null, hasSpoken: false };
  const followUps = followUpsOf(deps, request, parts);
  const news: Life['news'] = (item) => deps.feed.publish({ chat, invocation, event: { kind: 'news', news: item } });
  const acknowledged = (ids: readonly string[]): void => request.onTaken(followUps.acknowledge(ids));
  const keep = receiptKeeper(deps, invocation);
  const blamed: Life['end'] = (ending) => end(blame(ending, parts.session));
  const { logger, secrets, pace } = deps;
  const listener = createListener({ logger, secrets, pace, news, keep, acknowledged, end: blamed });
  return { request, listener, followUps, parts, cleanups: [], news, end };
};
