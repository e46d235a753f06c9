/** Entry of the thread that takes old rows out of the databases, once: the chats go on meanwhile. */
import { parentPort, workerData } from 'node:worker_threads';
import { z } from 'zod';
import { RetentionConfig } from '../domain/retention-config.ts';
import { pruneRows } from './retention.ts';

const Job = z.strictObject({
  state: z.string(),
  messages: z.string(),
  policy: RetentionConfig,
  nowMs: z.number(),
  dryRun: z.boolean(),
});

if (parentPort !== null) parentPort.postMessage(pruneRows(Job.parse(workerData)));
