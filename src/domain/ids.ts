/**
 * Names that become path segments, labels or keys. Each is parsed once, at the edge; a value of a branded type has
 * passed its pattern, so no code inside checks it again.
 */
import { z } from 'zod';

const RESERVED_FOLDERS: ReadonlySet<string> = new Set(['global', 'templates']);

/** A group's folder below `groups/`: 1–64 of `a-z 0-9 - _`, beginning with a letter or digit, not a reserved name. */
export const GroupFolder = z
  .string()
  .regex(
    /^[a-z0-9][a-z0-9_-]{0,63}$/,
    'a group folder is 1–64 characters of a-z, 0-9, - and _, and begins with a letter or digit',
  )
  .refine((name) => !RESERVED_FOLDERS.has(name), { error: '"global" and "templates" are reserved names' })
  .brand<'GroupFolder'>();
export type GroupFolder = z.infer<typeof GroupFolder>;

/** `<channel instance>:<chat id>`, also the value of `chat_id` in the message store. */
export const GroupId = z
  .string()
  .regex(/^[a-z][a-z0-9-]{0,31}:[\x21-\x7e]{1,200}$/, 'a group id is <channel instance>:<chat id>, e.g. local:lobby')
  .brand<'GroupId'>();
export type GroupId = z.infer<typeof GroupId>;

/** An agent's alias: a directory below `agents/` and a segment of `/workspace/agents/<alias>`. */
export const AgentAlias = z
  .string()
  .regex(
    /^[a-z0-9][a-z0-9_-]{0,63}$/,
    'an agent alias is 1–64 characters of a-z, 0-9, - and _, and begins with a letter or digit',
  )
  .brand<'AgentAlias'>();
export type AgentAlias = z.infer<typeof AgentAlias>;

/** A ULID: sortable by time, unique per turn; names containers, sockets and directories. */
export const InvocationId = z
  .string()
  .regex(/^[0-9A-HJKMNP-TV-Z]{26}$/, 'an invocation id is a ULID')
  .brand<'InvocationId'>();
export type InvocationId = z.infer<typeof InvocationId>;

/** Two sessions may run side by side in a group: people's, and scheduled work's. */
export const SESSION_NAMES = ['default', 'maintenance'] as const;
export const SessionName = z.enum(SESSION_NAMES);
export type SessionName = z.infer<typeof SessionName>;
