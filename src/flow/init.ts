/** The `init` frame: what the runner is told, all of it from the plan and the stores; nothing here decides. */
import type { InboundMessage } from '../domain/message.ts';
import type { InvocationPlan } from '../domain/plan.ts';
import type { InitFrame, TranscriptEntry } from '../protocol.ts';
import { promptMessage } from './follow-ups.ts';

/** The runner's own limit lies this much below the host's, so that it can end with what it has. */
const RUNNER_MARGIN_MS = 5_000;
/** Where there is no limit at all: longer than any turn, and still a number that a timer takes. */
const UNLIMITED_MS = 24 * 60 * 60 * 1000;
/** What one tool call hands to the model. */
const TOOL_OUTPUT_BYTES = 100_000;

export interface TurnSettings {
  /** The wire protocol of the provider. */
  readonly api: 'anthropic' | 'openai-compatible';
  readonly steps: number;
  readonly commandMs: number;
}

export interface InitInput {
  readonly plan: InvocationPlan;
  readonly settings: TurnSettings;
  readonly instructions: string;
  readonly transcript: readonly TranscriptEntry[];
  readonly messages: readonly InboundMessage[];
}

/** Tokens of one answer: what a turn asks for by itself; the tier's cap is the most it could ask for. */
const ANSWER_TOKENS = 8_000;

/** Names and scopes; nothing where there is nothing to tell. */
const credentialsOf = ({ credentials: { routes, environment } }: InvocationPlan): Pick<InitFrame, 'credentials'> =>
  routes.length + environment.length === 0
    ? {}
    : {
        credentials: {
          routes: routes.map(({ name, methods, pathPrefixes }) => ({
            name,
            methods: [...methods],
            pathPrefixes: [...pathPrefixes],
          })),
          environment: environment.map(({ variable }) => variable),
        },
      };

export const initFrame = ({ plan, settings, instructions, transcript, messages }: InitInput): InitFrame => ({
  type: 'init',
  invocation: plan.invocation,
  chat: { id: plan.group.id, name: plan.group.name },
  instructions,
  model: {
    provider: plan.model.provider,
    api: settings.api,
    name: plan.model.name,
    maxTokens: Math.min(ANSWER_TOKENS, plan.model.maxTokens),
  },
  tools: [...plan.tools],
  ...credentialsOf(plan),
  transcript: [...transcript],
  messages: messages.map(promptMessage),
  limits: {
    steps: settings.steps,
    turnMs: Math.max(1, (plan.limits.wallMs ?? UNLIMITED_MS) - RUNNER_MARGIN_MS),
    commandMs: settings.commandMs,
    toolOutputBytes: TOOL_OUTPUT_BYTES,
  },
});
