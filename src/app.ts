/**
 * The composition root: the only file that knows every part. Builds them in order, starts them, closes them in
 * reverse; a start that fails closes what had been started.
 */
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { availableParallelism, totalmem } from 'node:os';
import { join } from 'node:path';
import { ulid } from 'ulid';
import { createLocalChannel } from './channels/local.ts';
import type { Config } from './config.ts';
import { diskChores, openDiskGuard } from './disk.ts';
import type { Group } from './domain/group.ts';
import { InvocationId } from './domain/ids.ts';
import { noticeFor } from './domain/notice.ts';
import { AppError } from './errors.ts';
import { emptyTrash } from './files/tree.ts';
import { createFeed, type Feed } from './flow/feed.ts';
import { createLauncher, type Launcher } from './flow/launch.ts';
import { createPerformer } from './flow/perform.ts';
import { createQueue, type Turn } from './flow/queue.ts';
import type { DiskGuard } from './flow/quota.ts';
import { createEngineWatch, type EngineWatch, reapRecords } from './flow/reap.ts';
import { createReceiver } from './flow/receive.ts';
import { createReplier, type Replier } from './flow/reply.ts';
import { createTiles } from './flow/tiles.ts';
import { createTurnRunner } from './flow/turn.ts';
import { createInboxOpener } from './flow/turn-inbox.ts';
import { startUpkeep } from './flow/upkeep.ts';
import { startControl } from './ops/control.ts';
import type { ControlledSupervisor } from './ops/control-protocol.ts';
import { createSupervisor } from './ops/supervisor.ts';
import { packageRoot, packageVersion } from './package-root.ts';
import { type AppOptions, openParts, type Parts } from './parts.ts';
import { builtImage, composedTilesDirectory, planFor } from './planning.ts';
import { BACKUP_ROUND_MS, createBackupRounds } from './store/backup-rounds.ts';

export interface App {
  readonly supervisor: ControlledSupervisor;
  /** Removes what an earlier life left, opens the channels and the control socket. Throws AppError. */
  start(): Promise<void>;
  /** Asks for the end; `stopped` resolves. */
  shutdown(): void;
  readonly stopped: Promise<void>;
  /** Cancels what runs, waits until it is gone, closes everything in reverse. Idempotent. */
  close(): Promise<void>;
}

/** Turns at once where the configuration doesn't say: two per core, and 768 MiB of the machine's memory for each. */
const MEMORY_PER_TURN = 768 * 1024 * 1024;
const TURNS_PER_CORE = 2;

const concurrentTurns = (config: Config): number =>
  config.turns.concurrent ??
  Math.max(1, Math.min(availableParallelism() * TURNS_PER_CORE, Math.floor(totalmem() / MEMORY_PER_TURN)));

const readTrustWarning = (): Promise<string> =>
  readFile(join(packageRoot(), 'groups', 'templates', 'trust-warning.md'), 'utf8');

interface Surroundings {
  readonly feed: Feed;
  readonly replier: Replier;
  readonly disk: DiskGuard;
}

const buildLauncher = async (parts: Parts, { feed, replier, disk }: Surroundings): Promise<Launcher> => {
  const { home, config } = parts;
  const provider = parts.providers.get(config.provider);
  if (provider === undefined) throw new AppError({ code: 'config', message: `no provider "${config.provider}"` });
  const tiles = createTiles({
    source: join(packageRoot(), 'tiles'),
    target: (row) => composedTilesDirectory(home, row),
    trash: home.trash,
    newId: ulid,
  });
  return createLauncher({
    ...parts,
    models: provider.models,
    openInbox: createInboxOpener({ ...parts, perform: createPerformer({ ...parts, replier }) }),
    staging: { ...parts, tiles, trustWarning: await readTrustWarning() },
    settings: { api: provider.api, steps: config.turns.steps, commandMs: config.turns.commandSeconds * 1000 },
    feed,
    disk,
    clock: Date.now,
    newId: ulid,
  });
};

/** What the chat hears when a turn broke our own code. */
const reportBug =
  ({ stores, logger }: Parts, replier: Replier) =>
  async (turn: Turn, thrown: unknown): Promise<void> => {
    logger.error({ err: thrown, invocation: turn.invocation }, 'a turn broke the supervisor’s own code');
    const outcome = { kind: 'dead', error: 'a bug of the supervisor’s; its log has it' } as const;
    await stores.whenFree(() => {
      stores.inbound.settle({ invocation: turn.invocation, untouched: [], outcome });
      const record = stores.invocations.get(turn.invocation);
      if (record !== null)
        stores.invocations.end(record.id, { reason: 'failed', detail: outcome.error, timings: record.timings });
    });
    const text = noticeFor('failed', null, turn.invocation);
    await replier.deliver({ chat: turn.group, text, invocation: turn.invocation });
  };

/** The walk, wired from its end to its beginning. */
const buildWalk = async (parts: Parts, engine: EngineWatch) => {
  const { home, config, logger, stores } = parts;
  const clock = Date.now;
  const feed = createFeed();
  const local = createLocalChannel({ clock, newId: ulid });
  const channels = new Map([[local.instance, local]]);
  const replier = createReplier({ ...parts, channels, clock });
  const disk = openDiskGuard(parts, replier, engine);
  const launch = await buildLauncher(parts, { feed, replier, disk });
  const context = { home, config, image: builtImage(home) };
  const plan = (group: Group, { invocation }: Turn) => planFor(context, group, invocation);
  const retry = { attempts: config.queue.retries, firstMs: config.queue.retrySeconds * 1000 };
  const turns = createTurnRunner({ stores, feed, replier, launch, plan, retry, clock, logger });
  const queue = createQueue({
    concurrent: concurrentTurns(config),
    waiting: () => stores.inbound.waiting(),
    newInvocation: () => InvocationId.parse(ulid()),
    run: async (turn) => {
      if (engine.report() === null) await engine.settle();
      await turns.run(turn);
    },
    follow: turns.follow,
    isHeld: ({ group }) => disk.holds(group),
    clock,
    onBug: reportBug(parts, replier),
  });
  const receive = createReceiver({ stores, replier, backlog: config.queue.backlog, wake: () => queue.wake(), logger });
  return { feed, local, channels, replier, queue, receive, disk, image: context.image };
};

type Walk = Awaited<ReturnType<typeof buildWalk>>;

/** Work that came in by the database alone (a replayed dead letter) is found this soon. */
const QUEUE_EVERY_MS = 1_000;
const OUTBOX_EVERY_MS = 1_000;
const RECONCILE_EVERY_MS = 60_000;

const upkeepOf = (parts: Parts, { queue, replier }: Walk, engine: EngineWatch) => {
  const workerFile = join(packageRoot(), 'dist', 'backup-worker.mjs');
  const backUp = createBackupRounds({ home: parts.home, workerFile, clock: Date.now });
  return startUpkeep(
    [
      { name: 'queue', everyMs: QUEUE_EVERY_MS, run: async () => queue.wake() },
      { name: 'outbox', everyMs: OUTBOX_EVERY_MS, run: () => replier.sendDue() },
      { name: 'backups', everyMs: BACKUP_ROUND_MS, atStart: true, run: backUp },
      { name: 'reconcile', everyMs: RECONCILE_EVERY_MS, run: engine.settle },
      ...diskChores(parts),
    ],
    parts.logger,
  );
};

const startAll = async (parts: Parts, walk: Walk, engine: EngineWatch): Promise<void> => {
  const { logger, closers } = parts;
  await emptyTrash(parts.home.trash).catch((err: unknown) => logger.error({ err }, 'the trash is not empty'));
  await parts.stores.whenFree(() => reapRecords(parts));
  await engine.settle();
  await walk.disk.look();
  closers.add(() => walk.queue.close());
  for (const channel of walk.channels.values()) {
    await channel.start(async (message) => void (await walk.receive(message)));
    closers.add(() => channel.close());
  }
  closers.add(
    walk.feed.subscribe(({ chat, invocation, event }) => {
      const instance = chat.slice(0, chat.indexOf(':'));
      if (event.kind === 'news') walk.channels.get(instance)?.follow(chat, invocation, event.news);
    }),
  );
  const upkeep = upkeepOf(parts, walk, engine);
  closers.add(() => upkeep.close());
  logger.info({ image: walk.image, engine: engine.report()?.version ?? null }, 'supervisor started');
  walk.queue.wake();
};

/** Throws AppError: no home, a broken configuration, another supervisor on this home. */
export const openApp = async (options: AppOptions): Promise<App> => {
  const parts = await openParts(options);
  const stop = new AbortController();
  const stopped = once(stop.signal, 'abort').then(() => undefined);
  const turns: { live: () => ReadonlySet<string> } = { live: () => new Set() };
  const engine = createEngineWatch({ ...parts, live: () => turns.live() });
  const walk = await buildWalk(parts, engine);
  turns.live = () => new Set(walk.queue.running().map(({ invocation }) => invocation));
  const supervisor = createSupervisor({
    ...parts,
    ...walk,
    homeDir: parts.home.dir,
    version: packageVersion(),
    concurrent: concurrentTurns(parts.config),
    engine: engine.report,
    shutdown: () => stop.abort(),
    clock: Date.now,
  });
  return {
    supervisor,
    start: async () => {
      await startAll(parts, walk, engine);
      const control = await startControl({ socketPath: parts.home.controlSocket, supervisor, logger: parts.logger });
      parts.closers.add(() => control.close());
    },
    shutdown: () => stop.abort(),
    stopped,
    close: parts.closers.closeAll,
  };
};
