/** Runs the pruning of rows in a thread of its own. */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { z } from 'zod';
import { PrunedRows, type RetentionJob } from './retention.ts';

/** `workerFile`: the bundled retention-worker. Rejects with what the thread met. */
export const pruneRowsInThread = async (workerFile: string | URL, job: RetentionJob): Promise<PrunedRows[]> => {
  const worker = new Worker(workerFile, { workerData: job, name: 'retention' });
  try {
    const [answer] = await once(worker, 'message');
    return z.array(PrunedRows).parse(answer);
  } finally {
    await worker.terminate();
  }
};
