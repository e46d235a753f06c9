/**
 * Entry of the copying thread: one request at a time, in the order of asking. It keeps the only connections of this
 * process to the live store besides the supervisor's own, and writes nothing but copies.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { toAppError } from '../errors.ts';
import { type CopyReply, CopyRequest, CopyWorkerData } from './copy-protocol.ts';
import { writeFilteredCopy } from './filter.ts';
import { Publisher } from './publish.ts';

type Job = Exclude<CopyRequest, { kind: 'close' }>;

const perform = (job: Job, data: CopyWorkerData, publisher: Publisher): void => {
  if (job.kind === 'link') publisher.link(job);
  else writeFilteredCopy({ ...data, target: job.target, chat: job.chat });
};

const attempt = (job: Job, data: CopyWorkerData, publisher: Publisher): CopyReply => {
  try {
    perform(job, data, publisher);
    return { call: job.call, error: null };
  } catch (thrown) {
    const { code, message, hint } = toAppError(thrown);
    return { call: job.call, error: { code, message, ...(hint === undefined ? {} : { hint }) } };
  }
};

const serve = (port: NonNullable<typeof parentPort>): void => {
  const data = CopyWorkerData.parse(workerData);
  const publisher = new Publisher({
    source: data.source,
    directory: data.published,
    everyMs: data.publishEveryMs,
  });
  port.on('message', (message: unknown) => {
    const request = CopyRequest.parse(message);
    if (request.kind !== 'close') return port.postMessage(attempt(request, data, publisher));
    publisher.close();
    port.close();
  });
};

if (parentPort !== null) serve(parentPort);
