/**
 * The end of a turn as one transaction: the words for the chat, the messages' fate, the transcript, the record. A crash
 * leaves all of it or nothing, so that no message is answered twice and none is lost.
 */

import type { Timings } from '../domain/invocation.ts';
import type { InboundMessage } from '../domain/message.ts';
import { noticeFor } from '../domain/notice.ts';
import type { InvocationPlan } from '../domain/plan.ts';
import type { RetryRule, Settlement } from '../store/inbound.ts';
import type { Stores } from '../store/stores.ts';
import { type Ending, outcomeOf } from './ending.ts';
import type { TurnEvent } from './feed.ts';
import type { Launch } from './launch.ts';
import type { CancelReason, Turn } from './queue.ts';
import type { Posted, Replier } from './reply.ts';

export interface SettleDeps {
  readonly stores: Stores;
  readonly replier: Replier;
  readonly retry: RetryRule;
}

/** What a turn took out of the queue, and the plan for it. */
export interface Taken {
  readonly turn: Turn;
  readonly plan: InvocationPlan;
  readonly messages: readonly InboundMessage[];
  /** When the oldest and the newest of them came in, ms since 1970. */
  readonly acceptedAt: number;
  readonly newestAt: number;
}

/** A shutdown cut it off: its messages go back into the queue, and the chat hears nothing. */
const isCut = ({ cancelled }: Turn): boolean => cancelled.aborted && (cancelled.reason as CancelReason) === 'shutdown';

export type Outcome = Settlement['outcome'];

/** What the chat gets, in order. A turn that is tried again says nothing: it would say it twice. */
const wordsFor = (turn: Turn, ending: Ending, outcome: Outcome): string[] => {
  const text = ending.text === null ? [] : [ending.text];
  if (ending.reason === 'completed') return text;
  if (outcome.kind === 'requeue' || outcome.kind === 'retry') return [];
  return [...text, noticeFor(ending.reason, ending.cause, turn.invocation)];
};

export interface TurnEnd {
  readonly taken: Taken;
  readonly launch: Launch;
  readonly ending: Ending;
  readonly timings: Timings;
}

const wantedOutcome = (deps: SettleDeps, { taken, launch, ending }: TurnEnd): Outcome =>
  isCut(taken.turn) && ending.reason !== 'completed'
    ? { kind: 'requeue' }
    : outcomeOf(ending, deps.retry, launch.hasSpoken());

/** `posted` is still to be sent; `outcome`: a retry that was the last one has become a dead letter. */
export const settle = (deps: SettleDeps, end: TurnEnd): { outcome: Outcome; posted: readonly Posted[] } => {
  const { stores, replier } = deps;
  const { taken, launch, ending, timings } = end;
  const { group, session, invocation } = taken.turn;
  const wanted = wantedOutcome(deps, end);
  return stores.together(() => {
    const dead = stores.inbound.settle({ invocation, untouched: launch.untouched(), outcome: wanted });
    const outcome: Outcome = wanted.kind === 'retry' && dead > 0 ? { kind: 'dead', error: wanted.error } : wanted;
    const words = wordsFor(taken.turn, ending, outcome);
    const posted = words.map((text) => replier.post({ chat: group, text, invocation }));
    if (ending.reason === 'completed') {
      stores.sessions.appendTranscript({ group, session, entries: launch.transcript() });
    }
    stores.invocations.end(invocation, { reason: ending.reason, detail: ending.detail, timings });
    return { outcome, posted: posted.filter((one) => one !== null) };
  });
};

/** What whoever looks on is told. */
export const eventOf = (outcome: Outcome, { reason, detail, text }: Ending, timings: Timings): TurnEvent =>
  outcome.kind === 'retry' || outcome.kind === 'requeue'
    ? { kind: 'postponed', reason, detail }
    : { kind: 'done', reason, detail, reply: text, timings: { ...timings } };
