/** `bash`: one shell command. It always answers with the output and how the command ended, whatever that was. */
import { z } from 'zod';
import { type CommandEnd, runCommand } from '../command.ts';
import { defineTool, ToolFailure } from './tool.ts';

/** The kernel takes 128 KiB per argument. */
const COMMAND_BYTES_MAX = 128 * 1024 - 1;
/** Both streams of the inner shell go into one pipe, so their order is kept. */
const ONE_PIPE = 'exec bash -c "$1" 2>&1';

const endNote = (end: CommandEnd): string => {
  if (end.how === 'exited') return `[exit code: ${end.code}]`;
  if (end.how === 'killed') return `[killed by signal ${end.signal}]`;
  return `[timed out after ${end.afterMs / 1000} s]`;
};

const onNewLine = (output: string): string => (output === '' || output.endsWith('\n') ? output : `${output}\n`);

export const bash = defineTool({
  name: 'bash',
  description:
    'Runs a shell command with bash in the group directory and returns its combined output and exit code. ' +
    'The network is reached through the proxy set in the environment. There is no terminal and no input.',
  input: z.object({ command: z.string().min(1).describe('The command line for bash -c.') }),
  run: async ({ command }, { directory, environment, limits, signal }) => {
    const bytes = Buffer.byteLength(command);
    if (bytes > COMMAND_BYTES_MAX) {
      throw new ToolFailure(
        `The command has ${bytes} bytes; ${COMMAND_BYTES_MAX} are allowed. Write a script file first.`,
      );
    }
    if (command.includes('\0')) throw new ToolFailure('The command has a NUL character in it.');
    const { output, end } = await runCommand({
      file: '/bin/sh',
      arguments: ['-c', ONE_PIPE, 'sh', command],
      cwd: directory,
      environment,
      timeoutMs: limits.commandMs,
      outputBytesMax: limits.toolOutputBytes,
      signal,
    });
    return `${onNewLine(output)}${endNote(end)}`;
  },
});
