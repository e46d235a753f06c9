/** What a chat is told when a turn did not end well: short, honest, and without the operator's details. Pure. */
import type { EndReason } from './invocation.ts';

const BECAUSE: Readonly<Record<Exclude<EndReason, 'completed'>, string>> = {
  failed: 'something went wrong on my side',
  timeout: 'it took longer than a turn may take',
  oom: 'it ran out of memory',
  disk: 'it wrote more than a turn may write',
  output: 'it printed more than a turn may print',
  cancelled: 'it was cancelled',
  'engine-lost': 'the machine that runs me went away',
};

/** Why a turn failed, as far as a chat may know. */
/** `capped`, `not-allowed`: it was the gateway that refused, which the host alone knows. */
export type PublicCause =
  | 'capped'
  | 'not-allowed'
  | 'provider-refused'
  | 'provider-busy'
  | 'provider-down'
  | 'engine'
  | 'image'
  | 'config'
  | 'no-room'
  | 'audit'
  | null;

const CAUSES: Readonly<Record<Exclude<PublicCause, null>, string>> = {
  capped: 'this chat has used up what it may use for now',
  'not-allowed': 'what was asked of the model is refused here, before any provider hears of it',
  'provider-refused': 'the model provider refused the request',
  'provider-busy': 'the model provider is busy',
  'provider-down': 'the model provider does not answer',
  engine: 'the container engine does not answer',
  image: 'the agent image is missing',
  config: 'this installation is not set up right',
  audit: 'what I do can’t be put on record, and I do nothing that isn’t',
  'no-room': 'this chat’s files take up all the room that they may, and the operator has to make some',
};

export const noticeFor = (reason: Exclude<EndReason, 'completed'>, cause: PublicCause, invocation: string): string =>
  `⚠ I could not finish: ${cause === null ? BECAUSE[reason] : CAUSES[cause]}. Your message is kept. (turn ${invocation})`;

/** From the HTTP status of a provider's answer; null where there was none. */
export const providerCause = (status: number | null): PublicCause => {
  if (status === null || status === 502 || status === 504) return 'provider-down';
  if (status === 429 || status === 503 || status === 529) return 'provider-busy';
  return status >= 500 ? 'provider-down' : 'provider-refused';
};

/** The same where the gateway itself gave the status; what it can't count, it doesn't let through. */
export const gatewayCause = (status: number, isCap: boolean): PublicCause => {
  if (isCap) return 'capped';
  return status >= 500 ? 'audit' : 'not-allowed';
};
