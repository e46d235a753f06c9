/**
 * The directories of one inbox, made once and kept by descriptor: whatever a container puts in their place later, the
 * host goes on with the originals.
 */
import { AppError } from '../errors.ts';
import type { Ownership } from '../files/at.ts';
import { type Directory, openDirectory } from '../files/beneath.ts';
import { makeOwnedDirectory } from '../files/tree.ts';

/** `whole`: the container gets the directory itself, rw; `split`: `messages/` rw and `input/` ro, and nothing else. */
export type InboxLayout = 'whole' | 'split';

export interface Box {
  readonly name: 'messages' | 'tasks';
  readonly directory: Directory;
}

export interface Boxes {
  readonly root: Directory;
  /** Container → host, in the order of sweeping. */
  readonly outgoing: readonly Box[];
  /** Host → container. */
  readonly input: Directory;
  close(): Promise<void>;
}

const make = async (root: Directory, name: string, ownership: Ownership): Promise<Directory> => {
  const made = await root.makeDirectory(name, ownership);
  if (made.ok) return made.value;
  throw new AppError({ code: 'refused', message: `can't make ${root.path}/${name}: ${made.detail}` });
};

export const makeBoxes = async (path: string, layout: InboxLayout, uid: number): Promise<Boxes> => {
  const container: Ownership = { mode: 0o755, uid };
  const host: Ownership = { mode: 0o755 };
  const shared = layout === 'whole' ? container : host;
  await makeOwnedDirectory(path, shared);
  const root = await openDirectory(path);
  const opened: Directory[] = [root];
  const close = async (): Promise<void> => {
    await Promise.all(opened.map((directory) => directory.close()));
  };
  const box = async (name: string, ownership: Ownership): Promise<Directory> => {
    const directory = await make(root, name, ownership);
    opened.push(directory);
    return directory;
  };
  try {
    const messages: Box = { name: 'messages', directory: await box('messages', container) };
    const input = await box('input', shared);
    if (layout === 'split') return { root, outgoing: [messages], input, close };
    const tasks: Box = { name: 'tasks', directory: await box('tasks', container) };
    return { root, outgoing: [messages, tasks], input, close };
  } catch (thrown) {
    await close();
    throw thrown;
  }
};
