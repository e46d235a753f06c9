/**
 * The last step of the walk: a text goes into a chat. An outbox row first, then the network, then the mark; what a
 * crash leaves unmarked is sent again at the next start.
 */
import type { Logger } from 'pino';
import type { Channel } from '../channels/channel.ts';
import { type GroupId, InvocationId } from '../domain/ids.ts';
import { stripInternal } from '../domain/internal-text.ts';
import type { SentFile } from '../domain/message.ts';
import { AppError, toAppError } from '../errors.ts';
import type { Secrets } from '../secrets.ts';
import type { OutboxRow } from '../store/outbox.ts';
import type { Stores } from '../store/stores.ts';
import { carryFile, textWithFile } from './send-file-carry.ts';
import type { Shelf } from './send-file-shelf.ts';

export interface Reply {
  readonly chat: GroupId;
  readonly text: string;
  readonly invocation: InvocationId | null;
  /** Goes with the text, which may be empty then: a copy on the shelf. */
  readonly file?: SentFile | undefined;
}

/** A text that has its row in the outbox and is not sent yet. */
export interface Posted {
  readonly id: string;
  readonly reply: Reply;
}

export interface Replier {
  /** Whether that chat's channel is there and carries files. */
  canSendFiles(chat: GroupId): boolean;
  /** The outbox row alone, so that it can be part of a transaction; null: there is nothing to say. */
  post(reply: Reply): Posted | null;
  /** Resolves with false when the network did not take it; the row is kept and tried again. */
  send(posted: Posted): Promise<boolean>;
  /** Both. */
  deliver(reply: Reply): Promise<boolean>;
  /** Sends what is due: what an earlier life left unsent, and what failed and has waited long enough. */
  sendDue(): Promise<void>;
}

export interface ReplierOptions {
  readonly stores: Stores;
  readonly channels: ReadonlyMap<string, Channel>;
  readonly shelf: Shelf;
  readonly secrets: Pick<Secrets, 'redact'>;
  readonly clock: () => number;
  readonly logger: Logger;
}

const instanceOf = (chat: GroupId): string => chat.slice(0, chat.indexOf(':'));

const channelOf = (channels: ReadonlyMap<string, Channel>, chat: GroupId): Channel => {
  const instance = instanceOf(chat);
  const channel = channels.get(instance);
  if (channel === undefined) {
    throw new AppError({ code: 'not-found', message: `there is no channel "${instance}" for the chat ${chat}` });
  }
  return channel;
};

class OutboxReplier implements Replier {
  readonly #options: ReplierOptions;
  /** Posted in this life and not yet sent or failed: the sweep must not send them a second time. */
  readonly #underWay = new Set<string>();

  constructor(options: ReplierOptions) {
    this.#options = options;
  }

  canSendFiles(chat: GroupId): boolean {
    return this.#options.channels.get(instanceOf(chat))?.sendFile !== undefined;
  }

  post(reply: Reply): Posted | null {
    const { redact } = this.#options.secrets;
    // Afterwards: what is internal may stand in the middle of a secret.
    const text = redact(stripInternal(reply.text).trim());
    const { chat, invocation } = reply;
    const file = reply.file && { ...reply.file, name: redact(reply.file.name) };
    if (text === '' && file === undefined) return null;
    const id = this.#options.stores.outbox.add({ invocation, chat, text, file });
    this.#underWay.add(id);
    return { id, reply: { chat, text, invocation, file } };
  }

  async send({ id, reply }: Posted): Promise<boolean> {
    const { stores, clock } = this.#options;
    this.#underWay.add(id);
    try {
      const text = textWithFile(reply.text, reply.file);
      const at = new Date(clock()).toISOString();
      await stores.whenFree(() => stores.messages.saveOutgoing({ chat: reply.chat, text, id, at }));
      await this.#transmit(reply);
      await stores.whenFree(() => stores.outbox.markSent(id));
      return true;
    } catch (thrown) {
      await this.#fail(id, reply, thrown);
      return false;
    } finally {
      this.#underWay.delete(id);
    }
  }

  async deliver(reply: Reply): Promise<boolean> {
    const posted = await this.#options.stores.whenFree(() => this.post(reply));
    return posted !== null && this.send(posted);
  }

  async sendDue(): Promise<void> {
    const { stores, clock } = this.#options;
    const isDue = ({ id, nextAt }: OutboxRow) => !this.#underWay.has(id) && Date.parse(nextAt) <= clock();
    for (const row of stores.outbox.pending().filter(isDue)) {
      const invocation = InvocationId.nullable().parse(row.invocation);
      const { chat, text, file } = row;
      await this.send({ id: row.id, reply: { chat, text, invocation, file: file ?? undefined } });
    }
  }

  #transmit({ file, ...message }: Reply): Promise<void> {
    const { channels, shelf } = this.#options;
    const channel = channelOf(channels, message.chat);
    return file === undefined ? channel.send(message) : carryFile({ channel, shelf }, { ...message, file });
  }

  async #fail(id: string, { chat }: Reply, thrown: unknown): Promise<void> {
    const { stores, logger } = this.#options;
    const error = toAppError(thrown);
    const fate = await stores.whenFree(() => stores.outbox.markFailed(id, error.message));
    const note = fate === 'dead' ? 'it is a dead letter now: tierclaw dead list' : 'it is kept and tried again';
    logger.error({ outbox: id, chat, err: error }, `a message could not be delivered; ${note}`);
  }
}

export const createReplier = (options: ReplierOptions): Replier => new OutboxReplier(options);
