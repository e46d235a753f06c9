/** Entry of the thread that makes one round of backups and ends: a big file takes seconds, and the chats go on. */
import { parentPort, workerData } from 'node:worker_threads';
import { z } from 'zod';
import { makeBackup } from './backup.ts';

const Jobs = z.array(
  z.strictObject({
    database: z.enum(['state', 'messages']),
    source: z.string(),
    directory: z.string(),
    now: z.number(),
  }),
);

if (parentPort !== null) for (const job of Jobs.parse(workerData)) makeBackup(job);
