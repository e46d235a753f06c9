/** `tierclaw chat`: one message (`--once`), a line each from a pipe, or a conversation at a terminal. */
import { createInterface } from 'node:readline';
import type { Group } from '../domain/group.ts';
import { AppError, EXIT_STATUS } from '../errors.ts';
import { ChatRequest } from '../ops/control-protocol.ts';
import { converse } from './chat-interactive.ts';
import { followTurn, hasFailed, type TurnOutcome } from './chat-turn.ts';
import { quietView } from './chat-view.ts';
import { type ControlClient, controlClient } from './client.ts';
import type { CommandContext, CommandResult } from './context.ts';
import { findGroup, soleGroup, withStores } from './groups-find.ts';
import { formatCount } from './table.ts';
import { terminalText } from './terminal.ts';

export interface ChatOptions {
  /** Folder, id or name; default: the group of the sole tier. */
  readonly group?: string;
  readonly once?: string;
}

/** What a person sees of a finished turn: everything that was sent; a reply that was not, too; why it failed. */
export const renderOutcome = ({ messages, reply, reason, detail }: TurnOutcome): string => {
  const shown = messages.length === 0 && reply !== null ? [reply] : messages;
  const failure = reason === 'completed' ? [] : [`(turn ended: ${detail === null ? reason : `${reason}, ${detail}`})`];
  return [...shown, ...failure].map((text) => terminalText(text).trimEnd()).join('\n\n');
};

const resultOf = (outcome: TurnOutcome): CommandResult => ({
  text: renderOutcome(outcome),
  data: outcome,
  ...(hasFailed(outcome) ? { status: EXIT_STATUS['turn-failed'] } : {}),
});

/** Throws AppError `usage` before the supervisor is asked at all. */
const parseText = (group: Group, text: string): string => {
  const parsed = ChatRequest.safeParse({ group: group.id, text });
  if (parsed.success) return parsed.data.text;
  const message = `the message has ${formatCount(text.length)} characters; allowed are 1–1 000 000`;
  throw new AppError({ code: 'usage', message, hint: 'send less, or put it into a file in the group’s folder' });
};

interface Chat {
  readonly context: CommandContext;
  readonly interruption: AbortSignal;
  readonly client: ControlClient;
  readonly group: Group;
}

/** Ctrl-C ends the turn as well as the command: nobody is left to read what would come. */
const askOnce = async ({ context, client, group, interruption }: Chat, text: string): Promise<TurnOutcome> => {
  const view = quietView(context.screen);
  const running: { invocation: string | null } = { invocation: null };
  const cancel = (): void => {
    if (running.invocation === null) return;
    // Refused where the turn is just ending: its outcome comes anyway.
    client.cancel(running.invocation).catch(() => undefined);
  };
  const began = (invocation: string): void => {
    running.invocation = invocation;
    if (interruption.aborted) cancel();
  };
  interruption.addEventListener('abort', cancel);
  try {
    return await followTurn({ client, group: group.id, text: parseText(group, text), view: { ...view, began } });
  } finally {
    interruption.removeEventListener('abort', cancel);
  }
};

const printOutcome = ({ json, screen }: CommandContext, outcome: TurnOutcome): void =>
  screen.out(`${json ? JSON.stringify(outcome) : renderOutcome(outcome)}\n`);

/** One message per line, one after another; the exit status tells whether any of them failed. */
const askEach = async (chat: Chat): Promise<number> => {
  const { screen } = chat.context;
  // Where no supervisor runs, an empty pipe would otherwise look like a success.
  await chat.client.status();
  let status = 0;
  for await (const line of createInterface({ input: screen.input, crlfDelay: Number.POSITIVE_INFINITY })) {
    if (line.trim() === '' || chat.interruption.aborted) continue;
    const outcome = await askOnce(chat, line);
    printOutcome(chat.context, outcome);
    if (hasFailed(outcome)) status = EXIT_STATUS['turn-failed'];
  }
  return status;
};

export const chat = async (context: CommandContext, options: ChatOptions): Promise<CommandResult | number> => {
  const { group: asked, once } = options;
  const group = await withStores(context.home, (stores) =>
    asked === undefined ? soleGroup(stores) : findGroup(stores, asked),
  );
  const talk = { context, client: controlClient(context.home), group };
  if (once === undefined && context.screen.isInteractive && !context.json) return converse(talk);
  const chat: Chat = { ...talk, interruption: context.interruption() };
  return once === undefined ? askEach(chat) : resultOf(await askOnce(chat, once));
};
