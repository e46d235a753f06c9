/** Searches a container's files for what the host has planted: all that can be read below some directories, bounded. */
import { open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Canary, held, type Kit, type Outcome, reached } from './probe.ts';

const FILES_MAX = 20_000;
const BYTES_MAX = 4 * 1024 * 1024;

/** What can't be opened holds nothing that can be found; a FIFO without a writer isn't waited for. */
const readSome = async (path: string): Promise<Buffer> => {
  const file = await open(path, 'r').catch(() => null);
  if (file === null) return Buffer.alloc(0);
  try {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(BYTES_MAX), 0, BYTES_MAX, null);
    return buffer.subarray(0, bytesRead);
  } catch {
    return Buffer.alloc(0);
  } finally {
    await file.close();
  }
};

const filesBelow = async function* (directory: string): AsyncGenerator<string> {
  const entries = await readdir(directory, { withFileTypes: true }).catch(() => []);
  for (const entry of entries) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) yield* filesBelow(path);
    else if (entry.isFile()) yield path;
  }
};

const filesIn = async function* (places: readonly string[]): AsyncGenerator<string> {
  for (const place of places) yield* filesBelow(place);
};

/** Reached where one of `wanted` is in a file below one of `places`. */
export const findCanaries = async (
  kit: Kit,
  places: readonly string[],
  wanted: readonly Canary[],
): Promise<Outcome> => {
  let searched = 0;
  for await (const path of filesIn(places)) {
    searched += 1;
    const found = kit.canariesIn(await readSome(path)).filter((name) => wanted.includes(name));
    if (found.length > 0) return reached(`${found.join(', ')} in ${path}`);
    if (searched >= FILES_MAX) break;
  }
  return held(`not in ${searched} files`);
};
