/** `send_message`: asks the host to send a message now. The host decides; its answer is what the model is told. */
import { z } from 'zod';
import { REPLY_CHARS_MAX } from '../../../src/protocol.ts';
import { explained } from './regular-file.ts';
import { defineTool, ToolFailure } from './tool.ts';

export const sendMessage = defineTool({
  name: 'send_message',
  description:
    'Sends a message right away, before your reply: to this chat, or to another one where that is allowed. ' +
    'Your final reply is sent by itself; do not use this for it.',
  input: z.object({
    text: z.string().min(1).max(REPLY_CHARS_MAX),
    chat: z.string().min(1).max(300).optional().describe('Id of another registered chat; left out: this chat.'),
  }),
  run: async ({ text, chat }, { ipc, signal }) => {
    const request = { type: 'message' as const, text, ...(chat === undefined ? {} : { chat }) };
    const answer = await explained('The outbox', () => ipc.request(request, signal));
    if (answer === null) throw new ToolFailure('The host has not answered yet; the message may still be sent.');
    if (!answer.ok) throw new ToolFailure(answer.detail);
    return answer.detail;
  },
});
