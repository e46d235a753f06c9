/** Whether a text got into any chat: everything that is sent stands in the message store first. */
import { readFile } from 'node:fs/promises';
import { isErrno } from '../../errors.ts';
import type { Arena } from '../probe.ts';

const bytesOf = async (path: string): Promise<Buffer> => {
  try {
    return await readFile(path);
  } catch (thrown) {
    if (isErrno(thrown, 'ENOENT')) return Buffer.alloc(0);
    throw thrown;
  }
};

/** Looks at the raw bytes, the write-ahead log among them. */
export const isInHistory = async ({ home }: Arena, text: string): Promise<boolean> => {
  const files = [home.messageDatabase, `${home.messageDatabase}-wal`];
  return (await Promise.all(files.map(bytesOf))).some((bytes) => bytes.includes(text));
};
