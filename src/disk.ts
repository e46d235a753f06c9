/**
 * What keeps the machine's disks from filling, built from its parts: quotas of turns, the free-space floor, the rounds
 * that clear away what has been kept long enough. Part of the composition root.
 */
import { join } from 'node:path';
import { createMeasurer } from './files/measurer.ts';
import { createDiskGuard, type DiskGuard } from './flow/quota.ts';
import type { EngineWatch } from './flow/reap.ts';
import type { Replier } from './flow/reply.ts';
import type { Chore } from './flow/upkeep.ts';
import { collectAll, removedCount } from './ops/gc.ts';
import { rotateOwnLog } from './ops/log-files.ts';
import { packageRoot } from './package-root.ts';
import type { Parts } from './parts.ts';
import { collectorsFor } from './retention.ts';
import type { RetentionJob } from './store/retention.ts';
import { pruneRowsInThread } from './store/retention-thread.ts';

const HELD_NOTICE =
  '⚠ The disk of the machine that I run on is nearly full, so I can’t begin. Your message is kept; I answer it as soon as there is room.';

/** Closed with the parts. */
export const openDiskGuard = (parts: Parts, replier: Replier, engine: EngineWatch): DiskGuard => {
  const { home, config, audit, logger, closers } = parts;
  const measurer = createMeasurer(join(packageRoot(), 'dist', 'measure-worker.mjs'));
  closers.add(() => measurer.close());
  const guard = createDiskGuard({
    config: config.disk,
    paths: () => {
      const engineRoot = engine.report()?.machine.rootDirectory ?? null;
      const own = [home.data, home.groups, home.agents, home.trusted];
      return engineRoot === null ? own : [...own, engineRoot];
    },
    measurer,
    audit,
    logger,
    onHeld: (chat) => {
      const told = replier.deliver({ chat, text: HELD_NOTICE, invocation: null });
      told.catch((err: unknown) => logger.error({ err, chat }, 'a chat could not be told that its messages wait'));
    },
  });
  closers.add(() => guard.close());
  return guard;
};

const COLLECT_EVERY_MS = 10 * 60_000;
const ROTATE_EVERY_MS = 60_000;
/** Where the supervisor's own log goes. */
const STDOUT = 1;

const collect = async (parts: Parts): Promise<void> => {
  const { home, config, audit, logger, engineSocket } = parts;
  const workerFile = join(packageRoot(), 'dist', 'retention-worker.mjs');
  const prune = (job: RetentionJob) => pruneRowsInThread(workerFile, job);
  const report = await collectAll(collectorsFor({ home, config, engineSocket, nowMs: Date.now(), prune }), false);
  for (const { name, message, hint } of report.failed) logger.warn({ hint }, `clearing away ${name}: ${message}`);
  const removed = removedCount(report);
  if (removed === 0) return;
  audit.record({ kind: 'gc', by: 'supervisor', removed });
  logger.info({ kinds: report.kinds.filter((kind) => kind.removed > 0) }, 'old things were cleared away');
};

export const diskChores = (parts: Parts): Chore[] => [
  { name: 'clearing away', everyMs: COLLECT_EVERY_MS, run: () => collect(parts) },
  { name: 'log rotation', everyMs: ROTATE_EVERY_MS, run: async () => void rotateOwnLog(parts.home, STDOUT) },
];
