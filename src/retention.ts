/**
 * What is cleared away when, put together: for the supervisor's rounds and for `tierclaw gc`, which may run at the same
 * time. A composition root of its own, beside `app.ts`.
 */
import type { Config } from './config.ts';
import type { Home } from './home.ts';
import type { Collector } from './ops/gc.ts';
import { fileCollectors } from './ops/gc-files.ts';
import { usedImages } from './planning.ts';
import { openEngine } from './runtimes/engine.ts';
import { collectImages } from './runtimes/image-retention.ts';
import { filesToSend, type PrunedRows, type RetentionJob } from './store/retention.ts';

export interface RetentionOptions {
  readonly home: Home;
  readonly config: Config;
  readonly engineSocket: string;
  /** Ms since 1970. */
  readonly nowMs: number;
  /** In a thread where others would have to wait for it. */
  readonly prune: (job: RetentionJob) => Promise<readonly PrunedRows[]> | readonly PrunedRows[];
}

const rowCollector = ({ home, config, nowMs, prune }: RetentionOptions): Collector => ({
  name: 'databases',
  collect: async (dryRun) => {
    const files = { state: home.stateDatabase, messages: home.messageDatabase };
    const rows = await prune({ ...files, policy: config.retention, nowMs, dryRun });
    return rows.map((row) => ({ ...row, bytes: null }));
  },
});

const imageCollector = ({ home, config, engineSocket }: RetentionOptions): Collector => ({
  name: 'agent images',
  collect: async (dryRun) => {
    const used = usedImages(home);
    if (used.length === 0) return [];
    const engine = openEngine(engineSocket);
    try {
      const former = config.retention.formerImages;
      const count = await collectImages({ engine, homeId: home.dir, used, former, dryRun });
      return [{ kind: 'agent images', ...count, bytes: null }];
    } finally {
      engine.close();
    }
  },
});

/** In the order in which they are told. `home.dir` must be its real path: images are marked with it. */
export const collectorsFor = (options: RetentionOptions): Collector[] => [
  rowCollector(options),
  ...fileCollectors({
    home: options.home,
    policy: options.config.retention,
    nowMs: options.nowMs,
    keep: () => new Set(filesToSend(options.home.stateDatabase)),
  }),
  imageCollector(options),
];
