/** The agent port: whatever runs the model loop of one turn. One harness per file in `agents/`; it sees no frames. */
import type { z } from 'zod';
import type { InitFrame, TranscriptEntry } from '../../src/protocol.ts';

/** A tool as a harness offers it to the model. */
export interface AgentTool {
  readonly name: string;
  readonly description: string;
  readonly input: z.ZodType;
  /** What the model is told. Rejects with an Error whose message is fit for the model when the tool failed. */
  run(input: unknown, call: ToolCall): Promise<string>;
}

export interface ToolCall {
  readonly id: string;
  readonly signal: AbortSignal;
}

export interface AgentTurn {
  readonly model: InitFrame['model'];
  /** Where this provider's API begins, without a trailing slash. */
  readonly baseUrl: string;
  readonly system: string;
  /** Kept entries of earlier turns; a claim, so a harness leaves out what it can't use. */
  readonly history: readonly TranscriptEntry[];
  readonly prompt: TranscriptEntry;
  readonly tools: readonly AgentTool[];
  /** Model requests in this turn. */
  readonly stepsMax: number;
  /** Aborted: stop at once; the outcome no longer counts. */
  readonly signal: AbortSignal;
  readonly listener: AgentListener;
}

export interface AgentListener {
  /** A piece of the reply. */
  text(delta: string): Promise<void>;
  /** Once per model request. */
  usage(tokens: { readonly input: number; readonly output: number }): void;
  /** A call that never reached a tool: no such tool, or arguments that don't fit. */
  refused(call: { readonly id: string; readonly tool: string; readonly input: unknown }): void;
  /** Asked before each model request: messages that came in meanwhile, to be added to the conversation. */
  followUps(): Promise<readonly TranscriptEntry[]>;
}

export interface AgentOutcome {
  /** All pieces of the reply in order. */
  readonly text: string;
  /** What this turn adds to the conversation, the prompt included. */
  readonly entries: readonly TranscriptEntry[];
  /** `steps`: the model wanted more requests than it may have; `length`: the reply was cut; `filtered`: withheld. */
  readonly end: 'complete' | 'steps' | 'length' | 'filtered';
}

export interface Agent {
  /** Rejects with ProviderError when the provider failed. */
  run(turn: AgentTurn): Promise<AgentOutcome>;
}

export class ProviderError extends Error {
  /** HTTP status of the provider's answer, where there was one. */
  readonly status: number | undefined;

  constructor(message: string, status?: number) {
    super(message);
    this.name = 'ProviderError';
    this.status = status;
  }
}
