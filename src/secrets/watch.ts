/**
 * Reloads the secrets when one of their files changes. Watches the operator's own directories alone: the home, `agents/`
 * and each agent's; never a workspace, which a container can write.
 */
import { basename, dirname } from 'node:path';
import { watch } from 'chokidar';
import type { Logger } from 'pino';
import type { Audit, AuditEvent } from '../audit.ts';
import { AgentAlias } from '../domain/ids.ts';
import type { Home } from '../home.ts';
import type { LiveSecrets } from './live.ts';

/** An editor writes, renames and changes the mode in several steps. */
const QUIET_MS = 200;
/** home, agents, alias. */
const DEPTH = 2;

export interface SecretWatch {
  /** Idempotent. */
  close(): Promise<void>;
}

export interface SecretWatchOptions {
  readonly home: Pick<Home, 'dir' | 'envFile' | 'agents'>;
  readonly secrets: LiveSecrets;
  readonly audit: Pick<Audit, 'record'>;
  readonly logger: Logger;
}

/** Everything in the home that isn't on the way to a `.env` file. */
const isForeign =
  ({ dir, envFile, agents }: SecretWatchOptions['home']) =>
  (path: string): boolean => {
    if (path === dir || path === envFile || path === agents) return false;
    const isAgent = (directory: string): boolean =>
      dirname(directory) === agents && AgentAlias.safeParse(directory.slice(agents.length + 1)).success;
    return !isAgent(path) && !(path.endsWith('/.env') && isAgent(dirname(path)));
  };

/** A trail that can't be written stops what needs it by itself; keys that are to be revoked must go all the same. */
const note = ({ audit, logger }: SecretWatchOptions, event: AuditEvent): void => {
  try {
    audit.record(event);
  } catch (err) {
    logger.error({ err }, 'what became of the secrets could not be put on record');
  }
};

const reportProblems = (options: SecretWatchOptions): void => {
  for (const { message, hint } of options.secrets.problems()) {
    options.logger.error({ hint }, `secrets: ${message}`);
    note(options, { kind: 'secrets-refused', problem: message });
  }
};

const reload = async (options: SecretWatchOptions): Promise<void> => {
  const { secrets, logger } = options;
  await secrets.reload('all');
  const counts = { secrets: secrets.list().length, problems: secrets.problems().length };
  logger.info(counts, 'secrets read again');
  note(options, { kind: 'secrets-reloaded', ...counts });
  reportProblems(options);
};

/** Resolves when it watches, and what has changed since the first reading is known. */
export const watchSecrets = async (options: SecretWatchOptions): Promise<SecretWatch> => {
  const { home, secrets, logger } = options;
  const quiet: { timer: NodeJS.Timeout | undefined } = { timer: undefined };
  let under: Promise<void> = Promise.resolve();
  const watcher = watch(home.dir, {
    ignored: isForeign(home),
    depth: DEPTH,
    followSymlinks: false,
    ignoreInitial: true,
  });
  const touched = (path: string): void => {
    if (basename(path) !== '.env') return;
    clearTimeout(quiet.timer);
    quiet.timer = setTimeout(() => {
      under = reload(options);
    }, QUIET_MS);
  };
  watcher.on('all', (_event, path) => touched(path));
  // A change of mode or owner is none of the events above.
  watcher.on('raw', (_event, path) => touched(path));
  watcher.on('error', (err) => logger.error({ err }, 'secrets are not watched any more; after a change: restart'));
  await new Promise<void>((resolve) => watcher.once('ready', () => resolve()));
  await secrets.reload('files');
  reportProblems(options);
  return {
    close: async () => {
      clearTimeout(quiet.timer);
      await watcher.close();
      // What a reload has found belongs on record, and the trail is closed after this.
      await under;
    },
  };
};
