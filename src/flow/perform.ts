/** Carries out what a container asked for, once `may` has allowed it. Who asks is the inbox it lay in. */
import type { Audit } from '../audit.ts';
import { GroupId } from '../domain/ids.ts';
import { type Actor, type Asked, may } from '../domain/may.ts';
import type { MessageRequest } from '../protocol.ts';
import type { Stores } from '../store/stores.ts';
import type { Replier } from './reply.ts';
import { createFileSender, type FileAsker, type SendFileRequest } from './send-file.ts';
import type { Shelf } from './send-file-shelf.ts';

export interface Performed {
  readonly ok: boolean;
  /** The agent sees it. */
  readonly detail: string;
}

export interface PerformerOptions {
  readonly stores: Stores;
  readonly replier: Replier;
  readonly audit: Audit;
  /** Where copies of sent files lie. */
  readonly shelf: Shelf;
}

/** Whose request it is: known from the inbox, none of it from the request. */
export interface Asker extends Actor, FileAsker {}

type TextRequest = Extract<MessageRequest, { type: 'message' }>;

export const createPerformer = ({ stores, replier, audit, shelf }: PerformerOptions) => {
  const sendFile = createFileSender({ replier, shelf, audit });

  const refuse = (asker: Asker, request: Asked, reason: string): Performed => {
    audit.record({
      kind: 'request-refused',
      group: asker.group,
      invocation: asker.invocation,
      request: request.type,
      reason,
    });
    return { ok: false, detail: reason };
  };

  const message = async (asker: Asker, request: TextRequest): Promise<Performed> => {
    const chat = GroupId.parse(request.chat ?? asker.group);
    const sent = await replier.deliver({ chat, text: request.text, invocation: asker.invocation });
    return sent
      ? { ok: true, detail: `sent to ${chat}` }
      : { ok: false, detail: `not delivered to ${chat}; it is kept` };
  };

  const file = async (asker: Asker, request: SendFileRequest): Promise<Performed> => {
    const { kind, detail } = await sendFile(asker, request);
    return kind === 'refused' ? refuse(asker, request, detail) : { ok: kind === 'sent', detail };
  };

  const perform = (asker: Asker, known: MessageRequest): Promise<Performed> =>
    known.type === 'send_file' ? file(asker, known) : message(asker, known);

  /** `known` is null where the request is of a kind that isn't built: `may` finds the words of the refusal. */
  return async (asker: Asker, request: Asked, known: MessageRequest | null): Promise<Performed> => {
    const registered = stores.groups.list().map(({ id }) => id);
    const decision = may(asker, request, registered);
    if (!decision.allow) return refuse(asker, request, decision.reason);
    return known === null ? refuse(asker, request, `unknown request "${request.type}"`) : perform(asker, known);
  };
};

export type Performer = ReturnType<typeof createPerformer>;
