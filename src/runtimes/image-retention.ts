/**
 * Agent images that this home has used and uses no more. An image is named by its content, so several homes of one
 * engine may share it: each home marks those that it keeps with a name of its own, and none that anybody has marked, or
 * that any container was made from, is ever removed.
 */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { type Engine, engineError, engineStatus } from './engine.ts';

const MARKS = 'tierclaw-home';

export interface ImageRetention {
  readonly engine: Engine;
  /** The value of this home's label. */
  readonly homeId: string;
  /** Tags that this home has used: the current one first, then the newest. */
  readonly used: readonly string[];
  /** How many former ones stay beside the current. */
  readonly former: number;
  readonly dryRun: boolean;
}

const Inspected = z.object({ RepoTags: z.array(z.string()).nullish() });

const markOf = (homeId: string, at: number): string =>
  `${createHash('sha256').update(homeId).digest('hex').slice(0, 16)}.${at}`;

const isOwnMark = (homeId: string, name: string): boolean =>
  name.startsWith(`${MARKS}:${markOf(homeId, 0).slice(0, -1)}`);

/** null where the engine has no image by that name. */
const namesOf = async (engine: Engine, tag: string): Promise<readonly string[] | null> => {
  try {
    return Inspected.parse(await engine.quick.getImage(tag).inspect()).RepoTags ?? [];
  } catch (thrown) {
    if (engineStatus(thrown) === 404) return null;
    throw thrown;
  }
};

/** One that is needed after all, or gone meanwhile, is as good as dealt with. */
const removeName = async (engine: Engine, name: string): Promise<boolean> => {
  try {
    await engine.quick.getImage(name).remove();
    return true;
  } catch (thrown) {
    if ([404, 409].includes(engineStatus(thrown) ?? 0)) return false;
    throw thrown;
  }
};

/** The marks of images that are kept move to them by being set anew. */
const mark = async ({ engine, homeId, dryRun }: ImageRetention, kept: readonly string[]): Promise<void> => {
  if (dryRun) return;
  for (const [at, tag] of kept.entries()) {
    if ((await namesOf(engine, tag)) === null) continue;
    await engine.quick.getImage(tag).tag({ repo: MARKS, tag: markOf(homeId, at) });
  }
};

const isUsed = async (engine: Engine, tag: string): Promise<boolean> =>
  (await engine.quick.listContainers({ all: true, filters: { ancestor: [tag] } })).length > 0;

/** Its names that may go; null: it has to stay. Names that others gave it are not ours to take. */
const namesToRemove = async ({ engine, homeId }: ImageRetention, tag: string): Promise<readonly string[] | null> => {
  const names = await namesOf(engine, tag);
  if (names === null) return null;
  const own = names.filter((name) => isOwnMark(homeId, name));
  const isShared = names.some((name) => name.startsWith(`${MARKS}:`) && !own.includes(name));
  return isShared || (await isUsed(engine, tag)) ? null : [...own, tag];
};

const removeImage = async (engine: Engine, names: readonly string[]): Promise<boolean> => {
  let removed = false;
  for (const name of names) removed = await removeName(engine, name);
  return removed;
};

/** Throws AppError `engine`. */
export const collectImages = async (options: ImageRetention): Promise<{ found: number; removed: number }> => {
  const { engine, used, former, dryRun } = options;
  try {
    await mark(options, used.slice(0, 1 + former));
    const count = { found: 0, removed: 0 };
    for (const tag of used.slice(1 + former)) {
      const names = await namesToRemove(options, tag);
      if (names === null) continue;
      count.found += 1;
      if (!dryRun && (await removeImage(engine, names))) count.removed += 1;
    }
    return count;
  } catch (thrown) {
    throw engineError(engine, 'clear away old agent images', thrown);
  }
};
