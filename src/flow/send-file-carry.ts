/** The last step of a file: from the shelf into a network. What the network has taken leaves the shelf. */
import { lstat } from 'node:fs/promises';
import type { Channel, OutgoingFile } from '../channels/channel.ts';
import { AppError, isErrno } from '../errors.ts';
import type { Shelf } from './send-file-shelf.ts';

/** It waited long for its network, and its group has sent more than is kept. */
const refuseMissing = async ({ path, name }: OutgoingFile['file']): Promise<void> => {
  try {
    await lstat(path);
  } catch (thrown) {
    if (!isErrno(thrown, 'ENOENT')) throw thrown;
    throw new AppError({ code: 'not-found', message: `the copy of "${name}" is no longer kept`, cause: thrown });
  }
};

export interface Carriage {
  readonly channel: Channel;
  readonly shelf: Shelf;
}

/** Throws AppError when the network takes no files, or not this one; the copy stays then. */
export const carryFile = async ({ channel, shelf }: Carriage, message: OutgoingFile): Promise<void> => {
  if (channel.sendFile === undefined) {
    throw new AppError({ code: 'refused', message: `the channel "${channel.instance}" carries no files` });
  }
  await refuseMissing(message.file);
  const fate = await channel.sendFile(message);
  // It is delivered: a copy that can't be removed now is pushed out by those that come after it.
  if (fate === 'taken') await shelf.remove(message.file.path).catch(() => undefined);
};

/** How a message with a file stands in the history. */
export const textWithFile = (text: string, file: OutgoingFile['file'] | undefined): string => {
  if (file === undefined) return text;
  return `${text === '' ? '' : `${text}\n`}[file "${file.name}", ${file.bytes} bytes]`;
};
