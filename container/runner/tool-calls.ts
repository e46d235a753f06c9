/**
 * What happens around every tool call: calls run one after another in the model's order, the first waits for the
 * message database, output is bounded, and each call leaves exactly one receipt.
 */
import { createHash } from 'node:crypto';
import { access } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RunnerFrame } from '../../src/protocol.ts';
import type { AgentTool, ToolCall } from './agent.ts';
import type { FrameWriter } from './frames-out.ts';
import { capText } from './output-cap.ts';

const DATABASE_POLL_MS = 20;
const DATABASE_MS_MAX = 10_000;

/** Resolves when the file is there, or after 10 s all the same: a turn without history beats no turn. */
export const waitForFile = async (path: string, signal: AbortSignal, msMax = DATABASE_MS_MAX): Promise<void> => {
  const deadline = performance.now() + msMax;
  while (!(await exists(path)) && performance.now() < deadline) await sleep(DATABASE_POLL_MS, undefined, { signal });
};

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

export const digestOf = (input: unknown): string =>
  createHash('sha256')
    .update(JSON.stringify(input) ?? 'null')
    .digest('hex');

type Outcome = Extract<RunnerFrame, { type: 'receipt' }>['outcome'];

export const receipt = (call: { id: string; tool: string; input: unknown }, outcome: Outcome): RunnerFrame => ({
  type: 'receipt',
  id: call.id.slice(0, 200),
  tool: call.tool.slice(0, 100),
  argumentsDigest: digestOf(call.input),
  outcome,
});

export interface CallOptions {
  readonly writer: FrameWriter;
  readonly database: string;
  readonly outputBytesMax: number;
  readonly signal: AbortSignal;
}

/** The same tools with all of that around them. */
export const governTools = (tools: readonly AgentTool[], options: CallOptions): AgentTool[] => {
  const oneAtATime = serial();
  let ready: Promise<void> | undefined;
  const begin = (): Promise<void> => {
    ready ??= waitForFile(options.database, options.signal);
    return ready;
  };
  return tools.map((tool) => ({
    ...tool,
    run: (input, call) => oneAtATime(() => governed(tool, { input, call, options, begin })),
  }));
};

interface Governed {
  readonly input: unknown;
  readonly call: ToolCall;
  readonly options: CallOptions;
  /** Resolves when tools may begin. */
  begin(): Promise<void>;
}

const governed = async (tool: AgentTool, { input, call, options, begin }: Governed): Promise<string> => {
  const { writer, outputBytesMax } = options;
  const named = { id: call.id, tool: tool.name, input };
  void writer.send({ type: 'progress', note: tool.name });
  try {
    await begin();
    call.signal.throwIfAborted();
    const output = capText(await tool.run(input, call), outputBytesMax + NOTES_BYTES);
    void writer.send(receipt(named, 'ok'));
    return output;
  } catch (thrown) {
    void writer.send(receipt(named, call.signal.aborted ? 'cancelled' : 'error'));
    throw new Error(capText(thrown instanceof Error ? thrown.message : String(thrown), outputBytesMax));
  }
};

/** A tool's own notes (exit code, bytes left out) come on top of its bounded output. */
const NOTES_BYTES = 256;

const serial = (): (<T>(task: () => Promise<T>) => Promise<T>) => {
  let last: Promise<unknown> = Promise.resolve();
  return (task) => {
    const run = last.then(task, task);
    last = run.catch(() => undefined);
    return run;
  };
};
