/** What a tool is made of and what it may use. Arguments are parsed before they reach it. */
import type { z } from 'zod';
import type { ToolName } from '../../../src/domain/tools.ts';
import type { InitFrame } from '../../../src/protocol.ts';
import type { AgentTool } from '../agent.ts';
import type { Ipc } from '../ipc.ts';

export interface ToolContext {
  /** Working directory; relative paths start here. */
  readonly directory: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly limits: Pick<InitFrame['limits'], 'commandMs' | 'toolOutputBytes'>;
  readonly ipc: Ipc;
  /** The loopback port of the way out, and the program that uses it for `web_fetch`. */
  readonly web: { readonly proxyPort: number; readonly program: string };
}

interface ToolDefinition<Input extends z.ZodType> {
  readonly name: ToolName;
  readonly description: string;
  readonly input: Input;
  run(input: z.infer<Input>, use: ToolContext & { readonly signal: AbortSignal }): Promise<string>;
}

export type ToolFactory = (context: ToolContext) => AgentTool;

export const defineTool =
  <Input extends z.ZodType>({ name, description, input, run }: ToolDefinition<Input>): ToolFactory =>
  (context) => ({
    name,
    description,
    input,
    run: async (given, { signal }) => run(input.parse(given), { ...context, signal }),
  });

/** Something went wrong in a way that the model should hear about; the message is for it. */
export class ToolFailure extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'ToolFailure';
  }
}
