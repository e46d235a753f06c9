/**
 * Looks through an inbox's directories: never twice at once, a bounded number of entries, in order of their names, no
 * faster than the bucket allows. What has to wait, waits in the directory.
 */
import type { Box } from './ipc-boxes.ts';
import type { Bucket } from './ipc-bucket.ts';
import type { InboxFault, Intake } from './ipc-intake.ts';

/** Requests taken in but not yet performed; beyond, files wait in the directory. */
const BACKLOG_MAX = 50;

export interface SweeperOptions {
  readonly boxes: readonly Box[];
  readonly intake: Intake;
  readonly bucket: Bucket;
  readonly maxEntries: number;
  /** Files that the last sweep takes in. */
  readonly finalFiles: number;
  readonly onFlood: (detail: string) => void;
  readonly onRefusal: (kind: InboxFault, detail: string) => void;
  readonly onError: (thrown: unknown) => void;
}

export interface Sweeper {
  /** Sweeps now, or once more after the sweep that is under way. Never throws. */
  wake(): void;
  /** Waits for what is under way and takes in what arrived before. No sweep happens afterwards. Never rejects. */
  finish(): Promise<void>;
}

/** Dot-files are half-written; other names mean nothing. */
const isRequestFile = (name: string): boolean => name.endsWith('.json') && !name.startsWith('.');

export const createSweeper = (options: SweeperOptions): Sweeper => {
  const { intake, bucket, maxEntries, onError, onRefusal } = options;
  let underWay: Promise<void> | undefined;
  let again = false;
  let finished = false;
  let flooded = false;

  const takeOne = async (box: Box, name: string, last: boolean): Promise<void> => {
    try {
      await intake.take(box, name, last);
    } catch (thrown) {
      // One file's trouble must not keep the others waiting.
      onError(thrown);
    }
  };

  /** A name that isn't UTF-8 reads as U+FFFD and can't be opened by it. */
  const isAddressable = (box: Box, name: string): boolean => {
    if (intake.isStuck(box, name)) return false;
    if (!name.includes('\ufffd')) return true;
    intake.setAside(box, name);
    onRefusal('name', `${box.name}: a file name that is not UTF-8`);
    return false;
  };

  const flood = (box: Box): void => {
    options.onFlood(`more than ${maxEntries} files in ${box.name}/`);
    flooded = true;
  };

  const sweepBox = async (box: Box): Promise<void> => {
    const { names, overflow } = await box.directory.list(maxEntries);
    if (overflow) return flood(box);
    for (const name of names.filter(isRequestFile).sort()) {
      if (!isAddressable(box, name)) continue;
      if (intake.backlog() >= BACKLOG_MAX || !bucket.take()) return;
      await takeOne(box, name, false);
    }
  };

  const sweep = async (): Promise<void> => {
    for (const box of options.boxes) {
      if (!flooded) await sweepBox(box);
    }
  };

  const wake = (): void => {
    again = underWay !== undefined;
    if (again || finished || flooded) return;
    underWay = sweep()
      .catch(onError)
      .finally(() => {
        underWay = undefined;
        if (again) wake();
      });
  };

  const finalNames = async (): Promise<readonly (readonly [Box, string])[]> => {
    const files: (readonly [Box, string])[] = [];
    for (const box of options.boxes) {
      const { names } = await box.directory.list(maxEntries);
      const open = names.filter((name) => isRequestFile(name) && isAddressable(box, name)).sort();
      files.push(...open.map((name) => [box, name] as const));
    }
    return files;
  };

  const lastSweep = async (): Promise<void> => {
    const files = await finalNames();
    for (const [box, name] of files.slice(0, options.finalFiles)) await takeOne(box, name, true);
    const left = files.length - options.finalFiles;
    if (left > 0) onRefusal('left-over', `${left} request files were still waiting when the turn ended`);
  };

  const finish = async (): Promise<void> => {
    finished = true;
    await underWay;
    if (!flooded) await lastSweep().catch(onError);
    await intake.settled();
  };

  return { wake, finish };
};
