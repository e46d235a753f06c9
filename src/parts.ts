/**
 * What the supervisor stands on: configuration, secrets, databases, audit, gateway, engine. Opened in order; each is
 * closed by `closers`, in reverse. Part of the composition root.
 */
import { realpathSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { ulid } from 'ulid';
import { type Audit, openAudit } from './audit.ts';
import { type Environment, loadConfig } from './config.ts';
import { AppError } from './errors.ts';
import { openDirectory } from './files/beneath.ts';
import { makeOwnedDirectory } from './files/tree.ts';
import { createShelf, SHELF_LIMITS } from './flow/send-file-shelf.ts';
import type { SpendLedger } from './gateway/budget.ts';
import { createCredentialGateway } from './gateway/credentials.ts';
import type { NetworkDoors } from './gateway/egress-doors.ts';
import { resolveProviders } from './gateway/providers.ts';
import { createGateway } from './gateway/server.ts';
import { type Home, homeAt } from './home.ts';
import { createLogger } from './logger.ts';
import { packageRoot } from './package-root.ts';
import { type Amend, createDockerRuntime } from './runtimes/docker.ts';
import { engineSocket } from './runtimes/engine.ts';
import { redactAudit } from './secrets/audit.ts';
import { openSecrets } from './secrets/live.ts';
import { watchSecrets } from './secrets/watch.ts';
import { createCopier } from './store/copier.ts';
import { acquireLock } from './store/lock.ts';
import { LOOP_BUSY_TIMEOUT_MS } from './store/patience.ts';
import { createSpendLedger } from './store/spend-ledger.ts';
import { openStores, type Stores } from './store/stores.ts';

export interface AppOptions {
  readonly homeDir: string;
  readonly environment: Environment;
  /** Default: the machine's own. Tests hand in one that they make up. */
  readonly network?: NetworkDoors | undefined;
  /** No key, flag or variable leads here: only who builds the program from its parts can weaken it. */
  readonly amendContainers?: Amend | undefined;
}

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

const openStanding = async (homeDir: string, environment: Environment) => {
  const home = existingHome(homeDir);
  const config = await loadConfig(home);
  const secrets = await openSecrets({ home, commands: config.secrets });
  const logger = createLogger({ level: environment.logLevel ?? 'info', home: home.dir, redact: secrets.redact });
  await mkdir(home.data, { recursive: true, mode: 0o700 });
  return { home, config, secrets, logger, closers: createClosers(logger) };
};

type Standing = Awaited<ReturnType<typeof openStanding>>;

const openStorage = async ({ home, config, secrets, closers }: Standing) => {
  const lock = acquireLock(home.lockFile);
  closers.add(() => lock.release());
  const stores = openStores(home, Date.now, LOOP_BUSY_TIMEOUT_MS);
  closers.add(() => stores.close());
  const audit = redactAudit(openAudit(home.auditFile, Date.now), secrets.redact);
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
  const shelf = createShelf({ directory: home.outfiles, limits: SHELF_LIMITS, newId: ulid });
  return { stores, audit, quarantine, copier, shelf };
};

const openNetwork = (
  { home, config, secrets, logger, closers }: Standing,
  { environment, amendContainers: amend, network: doors }: AppOptions,
  { ledger, audit }: { readonly ledger: SpendLedger; readonly audit: Audit },
) => {
  const providers = resolveProviders(config, secrets);
  const credentials = createCredentialGateway({ secrets, audit, logger });
  closers.add(() => credentials.close());
  const gateway = createGateway({
    providers,
    secrets,
    logger,
    ledger,
    egress: { audit, doors },
    credentials: credentials.open,
  });
  closers.add(() => gateway.close());
  const socketPath = engineSocket({ socketPath: config.runtime.docker.socket, dockerHost: environment.dockerHost });
  const runtime = createDockerRuntime({ socketPath, homeId: home.dir, logger, amend });
  closers.add(() => runtime.close());
  return { providers, gateway, runtime, engineSocket: socketPath };
};

/** To be closed after the gateway, which counts to its end, and before the stores. */
const openLedger = ({ spend, whenFree }: Stores, { logger, closers }: Standing): SpendLedger => {
  const onError = (err: unknown): void =>
    logger.error({ err }, 'what model requests used can’t be written down; none is made until it can');
  const ledger = createSpendLedger({ spend, whenFree, onError });
  closers.add(() => ledger.close());
  return ledger;
};

/** Throws AppError: no home, a broken configuration, another supervisor on this home; then nothing stays open. */
export const openParts = async (options: AppOptions) => {
  const standing = await openStanding(options.homeDir, options.environment);
  try {
    const storage = await openStorage(standing);
    const ledger = openLedger(storage.stores, standing);
    const watch = await watchSecrets({ ...standing, ...storage });
    standing.closers.add(() => watch.close());
    return { ...standing, ...storage, ...openNetwork(standing, options, { ledger, audit: storage.audit }) };
  } catch (thrown) {
    await standing.closers.closeAll();
    throw thrown;
  }
};

export type Parts = Awaited<ReturnType<typeof openParts>>;
