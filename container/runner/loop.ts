/** One turn: `init` in, its last frame out. Everything the turn adds is written before that frame. */
import type { InitFrame, RunnerFrame, TranscriptEntry } from '../../src/protocol.ts';
import { type Agent, type AgentListener, type AgentOutcome, ProviderError } from './agent.ts';
import { type FrameWriter, TextStream } from './frames-out.ts';
import type { Ipc } from './ipc.ts';
import type { RunnerPaths } from './paths.ts';
import { systemPrompt, userEntry } from './prompt.ts';
import { governTools, receipt } from './tool-calls.ts';
import { makeTools } from './tools/index.ts';

export interface TurnOptions {
  readonly init: InitFrame;
  readonly agent: Agent;
  readonly writer: FrameWriter;
  readonly ipc: Ipc;
  readonly paths: RunnerPaths;
  /** The port that the relay really listens on. */
  readonly relayPort: number;
  readonly environment: Readonly<Record<string, string>>;
  /** Aborted with a TurnEnd as its reason. */
  readonly signal: AbortSignal;
}

/** Why a turn ended before its time. */
export class TurnEnd extends Error {
  readonly kind: 'limit' | 'cancelled' | 'internal';

  constructor(kind: TurnEnd['kind'], message: string) {
    super(message);
    this.name = 'TurnEnd';
    this.kind = kind;
  }
}

/** What follows the provider's name: Anthropic's client adds `/messages` to its base, the others `/chat/completions`. */
const API_BASES: Readonly<Record<InitFrame['model']['api'], string>> = { anthropic: '/v1', 'openai-compatible': '' };

/** Where the gateway has this provider's API. */
export const modelBaseUrl = ({ provider, api }: Pick<InitFrame['model'], 'provider' | 'api'>, port: number): string =>
  `http://127.0.0.1:${port}/model/${encodeURIComponent(provider)}${API_BASES[api]}`;

/** Runs the turn; resolves with the frame to end it with. Never rejects. */
export const runTurn = async (options: TurnOptions): Promise<RunnerFrame> => {
  const text = new TextStream(options.writer);
  try {
    const outcome = await orAborted(options.signal, runAgent(options, text));
    const last = lastFrame(outcome, options.init);
    await text.flush();
    await options.writer.send({ type: 'transcript', entries: [...outcome.entries] });
    return last;
  } catch (thrown) {
    await text.flush().catch(() => undefined);
    return errorFrame(options.signal.aborted ? options.signal.reason : thrown);
  }
};

const runAgent = (options: TurnOptions, text: TextStream): Promise<AgentOutcome> => {
  const { init, signal, writer, paths } = options;
  const tools = makeTools(init.tools, {
    directory: paths.group,
    environment: options.environment,
    limits: init.limits,
    ipc: options.ipc,
    web: { proxyPort: options.relayPort, program: paths.webFetch },
  });
  return options.agent.run({
    model: init.model,
    baseUrl: modelBaseUrl(init.model, options.relayPort),
    system: systemPrompt(init),
    history: init.transcript,
    prompt: userEntry(init.messages),
    tools: governTools(tools, {
      writer,
      database: paths.database,
      outputBytesMax: init.limits.toolOutputBytes,
      signal,
    }),
    stepsMax: init.limits.steps,
    signal,
    listener: listenerFor(options, text),
  });
};

const listenerFor = ({ writer, ipc }: TurnOptions, text: TextStream): AgentListener => ({
  text: (delta) => text.push(delta),
  usage: ({ input, output }) => void writer.send({ type: 'usage', inputTokens: input, outputTokens: output }),
  refused: (call) => void writer.send(receipt(call, 'error')),
  followUps: async () => {
    const taken = await ipc.takeFollowUps();
    if (taken.length === 0) return [];
    await writer.send({ type: 'ack', ids: taken.map(({ id }) => id) });
    return [userEntry(taken.map(({ message }) => message))] satisfies TranscriptEntry[];
  },
});

/** Doesn't wait for an agent that is slow to notice the abort. */
const orAborted = <T>(signal: AbortSignal, work: Promise<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    if (signal.aborted) reject(signal.reason);
    work.then(resolve, reject);
  });

const NOTICES: Readonly<Record<Exclude<AgentOutcome['end'], 'complete'>, (init: InitFrame) => string>> = {
  steps: ({ limits }) => `[Stopped here: this turn may make ${limits.steps} model requests.]`,
  length: ({ model }) => `[Cut off here: a reply may have ${model.maxTokens} tokens.]`,
  filtered: () => '[The model provider withheld the rest.]',
};

const lastFrame = (outcome: AgentOutcome, init: InitFrame): RunnerFrame => {
  if (outcome.end === 'complete') return { type: 'result', text: outcome.text };
  const notice = NOTICES[outcome.end](init);
  if (outcome.text.trim() !== '') return { type: 'result', text: `${outcome.text}\n\n${notice}` };
  return { type: 'error', kind: outcome.end === 'filtered' ? 'provider' : 'limit', message: notice.slice(1, -1) };
};

export const errorFrame = (thrown: unknown): RunnerFrame => {
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  if (thrown instanceof TurnEnd) return { type: 'error', kind: thrown.kind, message };
  if (!(thrown instanceof ProviderError)) return { type: 'error', kind: 'internal', message };
  return {
    type: 'error',
    kind: 'provider',
    message,
    ...(thrown.status === undefined ? {} : { status: thrown.status }),
  };
};
