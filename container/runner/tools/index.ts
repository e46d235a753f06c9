/** Every tool there is, by the name that `init` uses. What `init` doesn't name isn't offered. */
import type { InitFrame } from '../../../src/protocol.ts';
import type { AgentTool } from '../agent.ts';
import { bash } from './bash.ts';
import { fileEdit } from './file-edit.ts';
import { fileRead } from './file-read.ts';
import { fileWrite } from './file-write.ts';
import { glob } from './glob.ts';
import { grep } from './grep.ts';
import { sendFile } from './send-file.ts';
import { sendMessage } from './send-message.ts';
import type { ToolContext, ToolFactory } from './tool.ts';
import { webFetch } from './web-fetch.ts';

type ToolName = InitFrame['tools'][number];

const FACTORIES: Readonly<Record<ToolName, ToolFactory>> = {
  bash,
  file_read: fileRead,
  file_write: fileWrite,
  file_edit: fileEdit,
  glob,
  grep,
  send_message: sendMessage,
  send_file: sendFile,
  web_fetch: webFetch,
};

export const makeTools = (names: readonly ToolName[], context: ToolContext): AgentTool[] =>
  [...new Set(names)].map((name) => FACTORIES[name](context));
