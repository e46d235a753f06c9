/** Runs ripgrep for `glob` and `grep`, with an argument array and the bounds of every command. */
import { isErrno } from '../../../src/errors.ts';
import { runCommand } from '../command.ts';
import { type ToolContext, ToolFailure } from './tool.ts';

interface Search extends ToolContext {
  readonly signal: AbortSignal;
  readonly arguments: readonly string[];
  readonly cwd: string;
  /** What to say when nothing was found. */
  readonly nothing: string;
}

const start = async (search: Search): ReturnType<typeof runCommand> => {
  try {
    return await runCommand({
      file: 'rg',
      arguments: search.arguments,
      cwd: search.cwd,
      environment: search.environment,
      timeoutMs: search.limits.commandMs,
      outputBytesMax: search.limits.toolOutputBytes,
      signal: search.signal,
    });
  } catch (thrown) {
    if (isErrno(thrown, 'ENOENT')) throw new ToolFailure('There is no such directory here, or no ripgrep.');
    throw thrown;
  }
};

/** What ripgrep found; it ends with 1 when that is nothing and with 2 when something was wrong. */
export const search = async (wanted: Search): Promise<string> => {
  const { output, end } = await start(wanted);
  if (end.how === 'timed-out') throw new ToolFailure(`Stopped after ${end.afterMs / 1000} s; search a smaller place.`);
  if (end.how === 'exited' && end.code === 1 && output === '') return wanted.nothing;
  if (end.how === 'exited' && end.code === 0) return output;
  throw new ToolFailure(output.trim() || 'The search failed.');
};
