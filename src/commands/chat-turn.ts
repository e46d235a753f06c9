/** One message sent and its turn followed to the end; what is shown meanwhile is the caller's `TurnView`. */
import type { GroupId } from '../domain/ids.ts';
import { AppError } from '../errors.ts';
import type { ChatEvent } from '../ops/control-protocol.ts';
import type { ControlClient } from './client.ts';

export type TurnStep = Extract<ChatEvent, { kind: 'queued' | 'staged' | 'started' | 'thinking' }>['kind'];
type Done = Extract<ChatEvent, { kind: 'done' }>;

/** What `chat --once --json` prints. */
export interface TurnOutcome {
  readonly reply: string | null;
  readonly invocation: string;
  readonly timings: Done['timings'];
  /** An end reason; `completed` is the good one. */
  readonly reason: string;
  readonly detail: string | null;
  /** Everything that was sent into the chat meanwhile, in order: the reply, what the agent sent, notices. */
  readonly messages: readonly string[];
}

/** Told as it happens; texts are as they came, unfit for a terminal. */
export interface TurnView {
  step(step: TurnStep): void;
  progress(note: string): void;
  /** It is tried again after a while; whoever waits has to know, on a terminal or not. */
  postponed(detail: string): void;
  text(delta: string): void;
  message(text: string): void;
  /** Once, when the id by which the turn can be cancelled is known. */
  began(invocation: string): void;
}

export interface TurnRequest {
  readonly client: ControlClient;
  readonly group: GroupId;
  readonly text: string;
  readonly view: TurnView;
  /** Ends the following, not the turn. */
  readonly signal?: AbortSignal;
}

type Telling = Exclude<ChatEvent, { kind: 'accepted' | 'done' }>;

const tell = (view: TurnView, event: Telling): void => {
  if (event.kind === 'progress') view.progress(event.note);
  else if (event.kind === 'postponed') view.postponed(event.detail);
  else if (event.kind === 'text') view.text(event.delta);
  else if (event.kind === 'message') view.message(event.text);
  else view.step(event.kind);
};

const outcomeOf = (done: Done, messages: readonly string[]): TurnOutcome => {
  const { reply, invocation, timings, reason, detail } = done;
  return { reply, invocation, timings, reason, detail, messages };
};

/** Throws AppError where the supervisor refuses the message or goes away; a turn that fails is an outcome. */
export const followTurn = async ({ client, group, text, view, signal }: TurnRequest): Promise<TurnOutcome> => {
  const messages: string[] = [];
  const seen = { invocation: '' };
  for await (const event of client.chat({ group, text }, signal)) {
    if (event.kind === 'done') return outcomeOf(event, messages);
    if (event.kind === 'accepted') continue;
    if (event.invocation !== null && event.invocation !== seen.invocation) {
      seen.invocation = event.invocation;
      view.began(event.invocation);
    }
    if (event.kind === 'message') messages.push(event.text);
    tell(view, event);
  }
  throw new AppError({ code: 'internal', message: 'the supervisor ended its answer without an outcome' });
};

export const hasFailed = ({ reason }: TurnOutcome): boolean => reason !== 'completed';
