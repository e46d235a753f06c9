/**
 * Entry of the measuring thread. Requests are worked on side by side, a slice of each in turn: a huge tree must not
 * keep a small one, which may be growing fast, from being measured.
 */
import { setImmediate as giveWay } from 'node:timers/promises';
import { parentPort } from 'node:worker_threads';
import { measureHeld } from './held.ts';
import { measureTree } from './measure.ts';
import type { MeasureReply, MeasureRequest, MeasureResult } from './measure-protocol.ts';

const SLICE_MS = 5;

interface Stopwatch {
  workMs: number;
}

const runInSlices = async <T>(work: Generator<void, T>, watch: Stopwatch): Promise<T> => {
  for (;;) {
    const from = performance.now();
    let step = work.next();
    while (step.done !== true && performance.now() - from < SLICE_MS) step = work.next();
    watch.workMs += performance.now() - from;
    if (step.done === true) return step.value;
    await giveWay();
  }
};

const measure = async ({ trees, uid, container }: MeasureRequest): Promise<MeasureResult> => {
  const watch: Stopwatch = { workMs: 0 };
  const measured: MeasureResult['trees'] = [];
  for (const { path, bounds } of trees) measured.push(await runInSlices(measureTree(path, bounds, uid), watch));
  const none = { bytes: 0, files: 0, written: 0 };
  const held = container === null ? none : await runInSlices(measureHeld(container), watch);
  return { trees: measured, held, tookMs: watch.workMs };
};

const attempt = async (request: MeasureRequest): Promise<MeasureReply> => {
  const { call } = request;
  try {
    return { call, result: await measure(request) };
  } catch (thrown) {
    return { call, error: thrown instanceof Error ? thrown.message : String(thrown) };
  }
};

const serve = (port: NonNullable<typeof parentPort>): void => {
  // Our own thread asks; a schema here would load a parser into every running turn's supervisor.
  port.on('message', (request: MeasureRequest) => {
    void attempt(request).then((reply) => port.postMessage(reply));
  });
};

if (parentPort !== null) serve(parentPort);
