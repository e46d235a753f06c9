/**
 * The Vercel AI SDK as a harness. One `streamText` call is one model request with its tool calls; the loop around it is
 * ours, so that messages which came in meanwhile take their place between two requests.
 */
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { type LanguageModel, type ModelMessage, streamText, type TextStreamPart, type ToolSet, tool } from 'ai';
import { TranscriptEntry } from '../../../src/protocol.ts';
import { type Agent, type AgentOutcome, type AgentTool, type AgentTurn, ProviderError } from '../agent.ts';
import { toProviderError } from './ai-sdk-errors.ts';
import { toModelMessages } from './ai-sdk-history.ts';

/** The gateway puts the real key in; the client libraries only insist on having one. */
const PLACEHOLDER_KEY = 'placeholder';
/** Repeated only when the provider turned the request away before a byte of the answer. */
const RETRIES_MAX = 2;

const languageModel = ({ model, baseUrl }: AgentTurn): LanguageModel =>
  model.api === 'anthropic'
    ? createAnthropic({ baseURL: baseUrl, apiKey: PLACEHOLDER_KEY })(model.name)
    : createOpenAICompatible({
        name: model.provider,
        baseURL: baseUrl,
        apiKey: PLACEHOLDER_KEY,
        includeUsage: true,
      })(model.name);

const toolSet = (tools: readonly AgentTool[], signal: AbortSignal): ToolSet =>
  Object.fromEntries(
    tools.map(({ name, description, input, run }) => [
      name,
      tool({ description, inputSchema: input, execute: (args, call) => run(args, { id: call.toolCallId, signal }) }),
    ]),
  );

interface Step {
  readonly text: string;
  readonly messages: readonly ModelMessage[];
  readonly next: 'go-on' | Exclude<AgentOutcome['end'], 'steps'>;
}

const ENDS: Readonly<Record<string, Step['next']>> = { length: 'length', 'content-filter': 'filtered' };

/** Plain JSON data in the protocol's shape; whatever isn't JSON is gone after it. */
const toEntry = (message: ModelMessage): TranscriptEntry =>
  TranscriptEntry.parse(JSON.parse(JSON.stringify({ role: message.role, content: message.content })));

const openStream = (turn: AgentTurn, messages: ModelMessage[]) =>
  streamText({
    model: languageModel(turn),
    system: turn.system,
    messages,
    tools: toolSet(turn.tools, turn.signal),
    maxOutputTokens: turn.model.maxTokens,
    maxRetries: RETRIES_MAX,
    abortSignal: turn.signal,
    // Arguments are of no use before they are whole, and not every server of this API knows that switch.
    providerOptions: { anthropic: { toolStreaming: false } },
    // Errors are read from the stream; the default would print them.
    onError: () => undefined,
  });

type Part = TextStreamPart<ToolSet>;

/** Everything but text: what the listener has to know, and what must not go on. */
const notice = (part: Part, { listener, signal }: AgentTurn): void => {
  if (part.type === 'error') throw part.error;
  if (part.type === 'abort') signal.throwIfAborted();
  if (part.type === 'tool-call' && part.invalid === true) {
    listener.refused({ id: part.toolCallId, tool: part.toolName, input: part.input });
  }
  if (part.type !== 'finish-step') return;
  listener.usage({ input: part.usage.inputTokens ?? 0, output: part.usage.outputTokens ?? 0 });
};

/** Reads one answer to its end. A stream that ends without the provider's own reason was cut off on the way. */
const readStream = async (turn: AgentTurn, parts: AsyncIterable<Part>, lead: string) => {
  let text = '';
  let finish: string | undefined;
  for await (const part of parts) {
    notice(part, turn);
    if (part.type === 'finish-step' && part.rawFinishReason !== undefined) finish = part.finishReason;
    if (part.type !== 'text-delta' || part.text === '') continue;
    const delta = text === '' ? `${lead}${part.text}` : part.text;
    text += delta;
    await turn.listener.text(delta);
  }
  if (finish === undefined) throw new ProviderError('the provider ended its answer half-way');
  return { text, finish };
};

/** One model request and the tools it calls. `lead` goes before its first text, to set it off from an earlier one. */
const runStep = async (turn: AgentTurn, messages: ModelMessage[], lead: string): Promise<Step> => {
  const stream = openStream(turn, messages);
  try {
    const { text, finish } = await readStream(turn, stream.fullStream, lead);
    const calls = (await stream.toolCalls).length;
    const response = await stream.response;
    return { text, messages: response.messages, next: calls > 0 ? 'go-on' : (ENDS[finish] ?? 'complete') };
  } catch (thrown) {
    turn.signal.throwIfAborted();
    throw toProviderError(thrown);
  }
};

const runTurn = async (turn: AgentTurn): Promise<AgentOutcome> => {
  const history = toModelMessages(turn.history);
  const entries: TranscriptEntry[] = [turn.prompt];
  let text = '';
  for (let step = 0; step < turn.stepsMax; step += 1) {
    entries.push(...(await turn.listener.followUps()));
    turn.signal.throwIfAborted();
    const messages = [...history, ...toModelMessages(entries)];
    const { next, ...done } = await runStep(turn, messages, text === '' ? '' : '\n\n');
    text += done.text;
    entries.push(...done.messages.map(toEntry));
    if (next !== 'go-on') return { text, entries, end: next };
  }
  return { text, entries, end: 'steps' };
};

export const aiSdkAgent = (): Agent => ({ run: runTurn });
