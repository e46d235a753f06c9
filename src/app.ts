/**
 * The composition root: the only file that knows every part. Builds them in order, starts them, closes them in
 * reverse; a start that fails closes what had been started.
 */
import { once } from 'node:events';
import { realpathSync } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import { availableParallelism, totalmem } from 'node:os';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { ulid } from 'ulid';
import { openAudit } from './audit.ts';
import { createLocalChannel } from './channels/local.ts';
import { type Config, type Environment, loadConfig } from './config.ts';
import type { Group } from './domain/group.ts';
import { InvocationId } from './domain/ids.ts';
import { noticeFor } from './domain/notice.ts';
import { AppError } from './errors.ts';
import { openDirectory } from './files/beneath.ts';
import { emptyTrash, makeOwnedDirectory } from './files/tree.ts';
import { createFeed, type Feed } from './flow/feed.ts';
import { createLauncher, type Launcher } from './flow/launch.ts';
import { createPerformer } from './flow/perform.ts';
import { createQueue, type Turn } from './flow/queue.ts';
import { createEngineWatch, type EngineWatch, reapRecords } from './flow/reap.ts';
import { createReceiver } from './flow/receive.ts';
import { createReplier, type Replier } from './flow/reply.ts';
import { createTiles } from './flow/tiles.ts';
import { createTurnRunner } from './flow/turn.ts';
import { createInboxOpener } from './flow/turn-inbox.ts';
import { resolveProviders } from './gateway/providers.ts';
import { createGateway } from './gateway/server.ts';
import { type Home, homeAt } from './home.ts';
import { createLogger } from './logger.ts';
import { startControl } from './ops/control.ts';
import type { ControlledSupervisor } from './ops/control-protocol.ts';
import { createSupervisor } from './ops/supervisor.ts';
import { packageRoot, packageVersion } from './package-root.ts';
import { builtImage, composedTilesDirectory, planFor } from './planning.ts';
import { createDockerRuntime } from './runtimes/docker.ts';
import { engineSocket } from './runtimes/engine.ts';
import { loadSecrets } from './secrets.ts';
import { createCopier } from './store/copier.ts';
import { acquireLock } from './store/lock.ts';
import { openStores } from './store/stores.ts';

export interface AppOptions {
  readonly homeDir: string;
  readonly environment: Environment;
}

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

/** Closes in reverse order what was opened; a failure is logged and does not keep the rest open. */
const createClosers = (logger: Logger) => {
  const closers: (() => unknown)[] = [];
  return {
    add: (close: () => unknown): void => void closers.push(close),
    closeAll: async (): Promise<void> => {
      for (let close = closers.pop(); close !== undefined; close = closers.pop()) {
        try {
          await close();
        } catch (err) {
          logger.error({ err }, 'a part could not be closed');
        }
      }
    },
  };
};

const existingHome = (directory: string): Home => {
  const home = homeAt(directory);
  try {
    return homeAt(realpathSync(home.dir));
  } catch (cause) {
    throw new AppError({
      code: 'not-found',
      message: `there is no home at ${home.dir}`,
      hint: `tierclaw --home ${home.dir} init`,
      cause,
    });
  }
};

/** What stands on its own: files, databases, network clients. */
const openParts = async ({ homeDir, environment }: AppOptions) => {
  const home = existingHome(homeDir);
  const config = await loadConfig(home);
  const secrets = await loadSecrets(home.envFile);
  const logger = createLogger({ level: environment.logLevel ?? 'info', home: home.dir, redact: secrets.redact });
  const closers = createClosers(logger);
  await mkdir(home.data, { recursive: true, mode: 0o700 });
  const lock = acquireLock(home.lockFile);
  closers.add(() => lock.release());
  const stores = openStores(home, Date.now);
  closers.add(() => stores.close());
  const audit = openAudit(home.auditFile, Date.now);
  closers.add(() => audit.close());
  await makeOwnedDirectory(home.quarantine, { mode: 0o700 });
  const quarantine = await openDirectory(home.quarantine);
  closers.add(() => quarantine.close());
  const copier = createCopier({
    workerFile: join(packageRoot(), 'dist', 'copy-worker.mjs'),
    home,
    windowMessages: config.history.window,
    publishEveryMs: config.store.publishEverySeconds * 1000,
    clock: Date.now,
  });
  closers.add(() => copier.close());
  const providers = resolveProviders(config, secrets);
  const gateway = createGateway({ providers, secrets, logger });
  closers.add(() => gateway.close());
  const socketPath = engineSocket({ socketPath: config.runtime.docker.socket, dockerHost: environment.dockerHost });
  const runtime = createDockerRuntime({ socketPath, homeId: home.dir, logger });
  closers.add(() => runtime.close());
  return { home, config, logger, closers, stores, audit, quarantine, copier, providers, gateway, runtime };
};

type Parts = Awaited<ReturnType<typeof openParts>>;

const readTrustWarning = (): Promise<string> =>
  readFile(join(packageRoot(), 'groups', 'templates', 'trust-warning.md'), 'utf8');

const buildLauncher = async (parts: Parts, feed: Feed, replier: Replier): Promise<Launcher> => {
  const { home, config, stores, audit } = parts;
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
    openInbox: createInboxOpener({ ...parts, perform: createPerformer({ stores, replier, audit }) }),
    staging: { home, copier: parts.copier, tiles, trustWarning: await readTrustWarning() },
    settings: { api: provider.api, steps: config.turns.steps, commandMs: config.turns.commandSeconds * 1000 },
    feed,
  });
};

/** What the chat hears when a turn broke our own code. */
const reportBug =
  ({ stores, logger }: Parts, replier: Replier) =>
  async (turn: Turn, thrown: unknown): Promise<void> => {
    logger.error({ err: thrown, invocation: turn.invocation }, 'a turn broke the supervisor’s own code');
    stores.inbound.finish(turn.invocation, 'failed');
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
  const replier = createReplier({ stores, channels, clock, logger });
  const launch = await buildLauncher(parts, feed, replier);
  const context = { home, config, image: builtImage(home) };
  const plan = (group: Group, { invocation }: Turn) => planFor(context, group, invocation);
  const answer = createTurnRunner({ stores, feed, replier, launch, plan, clock, logger });
  const queue = createQueue({
    concurrent: concurrentTurns(config),
    waiting: () => stores.inbound.waiting(),
    newInvocation: () => InvocationId.parse(ulid()),
    run: async (turn) => {
      if (engine.report() === null) await engine.settle();
      await answer(turn);
    },
    onBug: reportBug(parts, replier),
  });
  const receive = createReceiver({ stores, wake: queue.wake, logger });
  return { feed, local, channels, replier, queue, receive, image: context.image };
};

type Walk = Awaited<ReturnType<typeof buildWalk>>;

const startAll = async (parts: Parts, walk: Walk, engine: EngineWatch): Promise<void> => {
  const { logger, closers } = parts;
  await emptyTrash(parts.home.trash).catch((err: unknown) => logger.error({ err }, 'the trash is not empty'));
  reapRecords(parts);
  await engine.settle();
  closers.add(() => walk.queue.close());
  await walk.replier.resume();
  for (const channel of walk.channels.values()) {
    await channel.start(async (message) => void walk.receive(message));
    closers.add(() => channel.close());
  }
  closers.add(
    walk.feed.subscribe(({ chat, invocation, event }) => {
      const instance = chat.slice(0, chat.indexOf(':'));
      if (event.kind === 'news') walk.channels.get(instance)?.follow(chat, invocation, event.news);
    }),
  );
  logger.info({ image: walk.image, engine: engine.report()?.version ?? null }, 'supervisor started');
  walk.queue.wake();
};

/** Throws AppError: no home, a broken configuration, another supervisor on this home. */
export const openApp = async (options: AppOptions): Promise<App> => {
  const parts = await openParts(options);
  const stop = new AbortController();
  const stopped = once(stop.signal, 'abort').then(() => undefined);
  const engine = createEngineWatch(parts);
  const walk = await buildWalk(parts, engine);
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
