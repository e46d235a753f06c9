/** The tools that a runner may be told to offer: the same list for the plan and for the protocol. */
export const TOOL_NAMES = [
  'bash',
  'file_read',
  'file_write',
  'file_edit',
  'glob',
  'grep',
  'send_message',
  'send_file',
  'web_fetch',
] as const;
export type ToolName = (typeof TOOL_NAMES)[number];
