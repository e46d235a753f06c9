/**
 * A conversation at a terminal. Ctrl-C cancels the turn that runs; again, or where none runs, it leaves, as do Ctrl-D
 * and /quit. Leaving never ends a turn: its answer is kept in the chat's history.
 */
import { once } from 'node:events';
import { createInterface, type Interface } from 'node:readline';
import type { Group } from '../domain/group.ts';
import { toAppError } from '../errors.ts';
import { followTurn, hasFailed } from './chat-turn.ts';
import { liveView } from './chat-view.ts';
import type { ControlClient } from './client.ts';
import type { CommandContext } from './context.ts';
import { terminalLine } from './terminal.ts';

export interface Conversation {
  readonly context: CommandContext;
  readonly client: ControlClient;
  readonly group: Group;
}

const PROMPT = '› ';
const QUIT = '/quit';

/** What Ctrl-C means at this moment. */
type Phase =
  | { readonly kind: 'idle' }
  /** Sent; the id by which it can be cancelled isn't known yet. */
  | { readonly kind: 'sent' }
  | { readonly kind: 'running'; readonly invocation: string }
  | { readonly kind: 'cancelling' };

const IDLE: Phase = { kind: 'idle' };

const createTurnControl = ({ context, client }: Conversation, leave: () => void) => {
  const state: { phase: Phase } = { phase: IDLE };

  const cancel = (invocation: string): void => {
    // Refused where the turn is just ending: its outcome comes anyway.
    client.cancel(invocation).catch(() => undefined);
  };
  const begin = (): void => {
    state.phase = { kind: 'sent' };
  };
  const end = (): void => {
    state.phase = IDLE;
  };
  const began = (invocation: string): void => {
    if (state.phase.kind === 'cancelling') cancel(invocation);
    else state.phase = { kind: 'running', invocation };
  };
  const interrupt = (): void => {
    const { phase } = state;
    if (phase.kind === 'idle' || phase.kind === 'cancelling') {
      leave();
      return;
    }
    if (phase.kind === 'running') cancel(phase.invocation);
    state.phase = { kind: 'cancelling' };
    context.screen.err('\n(cancelling; Ctrl-C again leaves)\n');
  };
  return { begin, end, began, interrupt };
};

type TurnControl = ReturnType<typeof createTurnControl>;

interface Room extends Conversation {
  readonly turn: TurnControl;
  readonly lines: Interface;
  /** Aborted when the person leaves. */
  readonly gone: AbortSignal;
}

const answer = async ({ context, client, group, turn, gone }: Room, text: string): Promise<void> => {
  const view = liveView(context.screen, turn.began);
  turn.begin();
  try {
    const outcome = await followTurn({ client, group: group.id, text, view, signal: gone });
    view.finish();
    if (hasFailed(outcome)) context.screen.err(`(turn ended: ${outcome.reason})\n`);
  } finally {
    view.finish();
    turn.end();
  }
};

/** A refusal ends neither the conversation nor what was typed meanwhile; a supervisor that is gone ends both. */
const report = ({ context, gone }: Room, thrown: unknown): void => {
  if (gone.aborted) return;
  const error = toAppError(thrown);
  if (error.code === 'not-running' || error.code === 'internal') throw error;
  context.screen.err(`error: ${terminalLine(error.message, 500)}\n`);
};

const readLines = async (room: Room): Promise<void> => {
  room.lines.prompt();
  for await (const line of room.lines) {
    const text = line.trim();
    if (text === QUIT) return;
    if (text !== '') await answer(room, text).catch((thrown) => report(room, thrown));
    if (!room.gone.aborted) room.lines.prompt();
  }
};

/** Returns the exit status when the person leaves. Throws AppError `not-running` where the supervisor isn't there. */
export const converse = async (talk: Conversation): Promise<number> => {
  const { context, client, group } = talk;
  await client.status();
  const { screen } = context;
  const gone = new AbortController();
  const lines = createInterface({ input: screen.input, output: screen.output, prompt: PROMPT, terminal: true });
  const turn = createTurnControl(talk, () => lines.close());
  const left = once(lines, 'close').then(() => gone.abort());
  lines.on('SIGINT', turn.interrupt);
  screen.out(`${terminalLine(group.name)} (tier ${group.tier}); Ctrl-C cancels a turn, Ctrl-D or ${QUIT} leaves\n`);
  try {
    await Promise.race([readLines({ ...talk, turn, lines, gone: gone.signal }), left]);
  } finally {
    lines.close();
  }
  screen.out('\n');
  return 0;
};
