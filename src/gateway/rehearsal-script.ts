/**
 * What the rehearsal model says: a fixed script. It reads a command at the beginning of the newest message and asks for
 * the tool that goes with it, so that a newcomer sees real tools and real limits without a real model. Pure.
 */
import { createHash } from 'node:crypto';
import { type Block, blocksOf, type MessagesRequest } from './rehearsal-request.ts';

export type Spoken =
  | { readonly type: 'text'; readonly text: string }
  | {
      readonly type: 'tool_use';
      readonly id: string;
      readonly name: string;
      readonly input: Readonly<Record<string, string>>;
    };

export type Performance =
  | { readonly kind: 'answer'; readonly content: readonly Spoken[] }
  /** A word per 200 ms, for that long. */
  | { readonly kind: 'slow'; readonly seconds: number }
  /** An HTTP error with that status. */
  | { readonly kind: 'fail'; readonly status: number };

interface ToolCommand {
  readonly tool: string;
  readonly input: (argument: string) => Readonly<Record<string, string>>;
}

/** Cuts at the first occurrence of the separator; the second part is '' when there is none. */
const cut = (text: string, separator: RegExp): readonly [string, string] => {
  const found = separator.exec(text);
  if (found === null) return [text, ''];
  return [text.slice(0, found.index), text.slice(found.index + found[0].length)];
};

const pathAndText = (argument: string): Readonly<Record<string, string>> => {
  const [path, content] = cut(argument, /\s/);
  return { path, content };
};

const pathAndChange = (argument: string): Readonly<Record<string, string>> => {
  const [path, change] = cut(argument, /\s/);
  const [oldText, newText] = cut(change, / => /);
  return { path, old_text: oldText, new_text: newText };
};

const whenAndPrompt = (argument: string): Readonly<Record<string, string>> => {
  const [when, prompt] = cut(argument, /\s*\|\s*/);
  return { when, prompt };
};

/** Command → tool and the names of its arguments. */
export const TOOL_COMMANDS: ReadonlyMap<string, ToolCommand> = new Map([
  ['run', { tool: 'bash', input: (command) => ({ command }) }],
  ['read', { tool: 'file_read', input: (path) => ({ path }) }],
  ['write', { tool: 'file_write', input: pathAndText }],
  ['edit', { tool: 'file_edit', input: pathAndChange }],
  ['glob', { tool: 'glob', input: (pattern) => ({ pattern }) }],
  ['grep', { tool: 'grep', input: (pattern) => ({ pattern }) }],
  ['say', { tool: 'send_message', input: (text) => ({ text }) }],
  ['remember', { tool: 'memory_store', input: (content) => ({ content }) }],
  ['recall', { tool: 'memory_recall', input: (query) => ({ query }) }],
  ['schedule', { tool: 'schedule_task', input: whenAndPrompt }],
  ['send-file', { tool: 'send_file', input: (path) => ({ path }) }],
  ['fetch', { tool: 'web_fetch', input: (url) => ({ url }) }],
]);

export const INTRODUCTION = [
  'I am the rehearsal model: a built-in stand-in that comes with TierClaw, not a language model.',
  'I don’t understand what you write, but I can use real tools when a message begins with one of these:',
  `${[...TOOL_COMMANDS.keys()].map((command) => `${command}:`).join(' ')} (for example “run: uname -a”).`,
  'Configure a provider in tierclaw.yaml to talk to a real model.',
].join(' ');

const SLOW_SECONDS_MAX = 600;
const NOTHING_SAID = '(the tool answered with nothing)';

interface Command {
  readonly name: string;
  readonly argument: string;
}

const NAMES = [...TOOL_COMMANDS.keys(), 'instructions', 'slow', 'fail'].join('|');
const WHOLE = new RegExp(`^(${NAMES}):[ \\t]*([\\s\\S]*)$`, 'i');
const LINE = new RegExp(`^[ \\t]*(${NAMES}):[ \\t]*(.*)$`, 'im');
const WRAPPED = /<message\b[^>]*>([\s\S]*?)<\/message>/g;
const ENTITIES: Readonly<Record<string, string>> = {
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
  '&apos;': "'",
  '&amp;': '&',
};

/** The messages inside the prompt's own markup, which escapes them; without any, the text itself. */
const segmentsOf = (text: string): readonly string[] => {
  const wrapped = [...text.matchAll(WRAPPED)].map(([, inner = '']) =>
    inner.replace(/&(?:lt|gt|quot|#39|apos|amp);/g, (entity) => ENTITIES[entity] ?? entity),
  );
  return (wrapped.length === 0 ? [text] : wrapped).map((segment) => segment.trim());
};

const toCommand = (found: RegExpExecArray | null): Command | undefined =>
  found?.[1] === undefined ? undefined : { name: found[1].toLowerCase(), argument: (found[2] ?? '').trim() };

/** The command that a message begins with, all of its lines; else the first line that begins with one. */
const findCommand = (segment: string): Command | undefined => toCommand(WHOLE.exec(segment) ?? LINE.exec(segment));

const resultText = (block: Block): string => {
  if (block.type !== 'tool_result') return '';
  if (typeof block.content === 'string') return block.content;
  return (block.content ?? []).map((part) => (part.type === 'text' ? String(part.text) : `[${part.type}]`)).join('');
};

/** Unique in a conversation, and the same for the same conversation. */
const toolUseId = (request: MessagesRequest, index: number): string => {
  const digest = createHash('sha256').update(JSON.stringify(request.messages)).digest('hex');
  return `toolu_rehearsal_${digest.slice(0, 20)}_${index}`;
};

const useTool = (request: MessagesRequest, command: Command, index: number): Spoken => {
  const known = TOOL_COMMANDS.get(command.name);
  const offered = (request.tools ?? []).some(({ name }) => name === known?.tool);
  if (known === undefined || !offered) {
    return { type: 'text', text: `no such tool here: ${known?.tool ?? command.name}` };
  }
  const id = toolUseId(request, index);
  return { type: 'tool_use', id, name: known.tool, input: known.input(command.argument) };
};

const testCommand = ({ name, argument }: Command): Performance | undefined => {
  const number = Number(argument);
  if (name === 'slow') return { kind: 'slow', seconds: Math.min(SLOW_SECONDS_MAX, Math.max(0, number || 0)) };
  if (name !== 'fail') return undefined;
  return { kind: 'fail', status: Number.isInteger(number) && number >= 400 && number < 600 ? number : 400 };
};

const INSTRUCTIONS_CHARS_MAX = 50_000;

/** For `instructions:`: what the agent was told before the conversation. */
const instructionsOf = ({ system }: MessagesRequest): Performance => {
  const text = typeof system === 'string' ? system : (system ?? []).map((block) => block.text).join('\n');
  const shown = text.trim().slice(0, INSTRUCTIONS_CHARS_MAX);
  return { kind: 'answer', content: [{ type: 'text', text: shown === '' ? NOTHING_SAID : shown }] };
};

/** Text before tool calls, as the API has it; several tools may be asked for at once. */
const inOrder = (content: readonly Spoken[]): readonly Spoken[] => [
  ...content.filter(({ type }) => type === 'text'),
  ...content.filter(({ type }) => type === 'tool_use'),
];

/** What the model does next in this conversation (whose neighbours of one role are joined). */
export const perform = (request: MessagesRequest): Performance => {
  const newest = blocksOf(request.messages.at(-1));
  const results = newest.filter(({ type }) => type === 'tool_result').map(resultText);
  const text = newest.findLast((block) => block.type === 'text')?.text;
  const commands = typeof text === 'string' ? segmentsOf(text).flatMap((one) => findCommand(one) ?? []) : [];
  const special = commands.map(testCommand).find((found) => found !== undefined);
  if (special !== undefined) return special;
  if (commands.some(({ name }) => name === 'instructions')) return instructionsOf(request);
  const told: readonly Spoken[] =
    results.length === 0 ? [] : [{ type: 'text', text: results.join('\n') || NOTHING_SAID }];
  const asked = commands.map((command, index) => useTool(request, command, index));
  const content = inOrder([...told, ...asked]);
  return { kind: 'answer', content: content.length === 0 ? [{ type: 'text', text: INTRODUCTION }] : content };
};
