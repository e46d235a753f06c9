/** `send_file`: asks the host to send a file. The host opens it by its own rules; its answer is what the model is told. */
import { isAbsolute } from 'node:path';
import { z } from 'zod';
import { CAPTION_CHARS_MAX } from '../../../src/protocol.ts';
import { explained } from './regular-file.ts';
import { defineTool, ToolFailure } from './tool.ts';

export const sendFile = defineTool({
  name: 'send_file',
  description:
    'Sends a file right away: to this chat, or to another one where that is allowed. It has to be a regular file in ' +
    'a directory that is shared with the host, such as /workspace/group; links are never followed.',
  input: z.object({
    path: z.string().min(1).max(4096).describe('Absolute, or relative to the working directory.'),
    caption: z.string().max(CAPTION_CHARS_MAX).optional(),
    chat: z.string().min(1).max(300).optional().describe('Id of another registered chat; left out: this chat.'),
  }),
  run: async ({ path, caption, chat }, { directory, ipc, signal }) => {
    const request = {
      type: 'send_file' as const,
      // Not resolved here: what ".." and links mean is for the host to judge.
      path: isAbsolute(path) ? path : `${directory}/${path}`,
      ...(caption === undefined ? {} : { caption }),
      ...(chat === undefined ? {} : { chat }),
    };
    const answer = await explained('The outbox', () => ipc.request(request, signal));
    if (answer === null) throw new ToolFailure('The host has not answered yet; the file may still be sent.');
    if (!answer.ok) throw new ToolFailure(answer.detail);
    return answer.detail;
  },
});
