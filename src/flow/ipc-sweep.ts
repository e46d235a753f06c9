/**
 * Looks through an inbox's directories: never twice at once, a bounded number of entries, no faster than the bucket
 * allows. A sweep goes by the order of names; a file that a hint tells of is taken by itself, when it comes. What has to
 * wait, waits in the directory.
 */
import type { Box } from './ipc-boxes.ts';
import type { Bucket } from './ipc-bucket.ts';
import type { InboxFault, Intake } from './ipc-intake.ts';
import { isRequestFile } from './ipc-parse.ts';

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
  /** The same, and looks first at the file of that name where nothing is under way. Never throws. */
  hint(box: Box, name?: string): void;
  /** Waits for what is under way and takes in what arrived before. No sweep happens afterwards. Never rejects. */
  finish(): Promise<void>;
}

interface Waiting {
  /** Request files of one directory in order of their names; at most `maxEntries`. */
  readonly names: readonly string[];
  readonly overflow: boolean;
}

/** In the place of bytes that are no UTF-8. */
const UNADDRESSABLE = '\ufffd';

type Lister = (box: Box) => Promise<Waiting>;

const createLister = ({ intake, maxEntries, onRefusal }: SweeperOptions): Lister => {
  let reported = false;
  /** A name that isn't UTF-8 reads as U+FFFD and can't be opened by it. One report stands for all: they cost no time. */
  const isAddressable = (box: Box, name: string): boolean => {
    if (intake.isStuck(box, name)) return false;
    if (!name.includes(UNADDRESSABLE)) return true;
    if (!reported) onRefusal('name', `${box.name}: a file name that is not UTF-8`);
    reported = true;
    return false;
  };
  return async (box) => {
    const { names, overflow } = await box.directory.list(maxEntries);
    return { names: names.filter((name) => isRequestFile(name) && isAddressable(box, name)).sort(), overflow };
  };
};

/** One file's trouble must not keep the others waiting. */
const createTaker =
  ({ intake, onError }: SweeperOptions) =>
  (box: Box, name: string, last: boolean): Promise<void> =>
    intake.take(box, name, last).catch(onError);

/** The sweep of every day; returns true once there were too many entries. */
const createSweep = (options: SweeperOptions, waitingIn: Lister) => {
  const { intake, bucket, maxEntries, onFlood } = options;
  const take = createTaker(options);

  const sweepBox = async (box: Box): Promise<boolean> => {
    const { names, overflow } = await waitingIn(box);
    if (overflow) {
      onFlood(`more than ${maxEntries} files in ${box.name}/`);
      return true;
    }
    for (const name of names) {
      if (intake.backlog() >= BACKLOG_MAX || !bucket.take()) return false;
      await take(box, name, false);
    }
    return false;
  };

  return async (): Promise<boolean> => {
    for (const box of options.boxes) {
      if (await sweepBox(box)) return true;
    }
    return false;
  };
};

/** One file that was told of, without a look at the rest; a file that can't be taken in now is left for the sweep. */
const createHinted = (options: SweeperOptions) => {
  const { intake, bucket } = options;
  const take = createTaker(options);
  return async (box: Box, name: string): Promise<void> => {
    const isFree = !intake.isStuck(box, name) && intake.backlog() < BACKLOG_MAX && bucket.take();
    if (isFree && !name.includes(UNADDRESSABLE)) await take(box, name, false);
  };
};

/** What arrived before the end, in bounds; the bucket has no say, for there is no later. */
const createLastSweep = (options: SweeperOptions, waitingIn: Lister) => {
  const { boxes, finalFiles, onRefusal } = options;
  const take = createTaker(options);
  return async (): Promise<void> => {
    const files: [Box, string][] = [];
    for (const box of boxes) {
      const { names } = await waitingIn(box);
      files.push(...names.map((name): [Box, string] => [box, name]));
    }
    for (const [box, name] of files.slice(0, finalFiles)) await take(box, name, true);
    const left = files.length - finalFiles;
    if (left > 0) onRefusal('left-over', `${left} request files were still waiting when the turn ended`);
  };
};

/** All with one lister, which knows what it has reported. */
const createLooks = (options: SweeperOptions) => {
  const waitingIn = createLister(options);
  return {
    sweep: createSweep(options, waitingIn),
    lastSweep: createLastSweep(options, waitingIn),
    hinted: createHinted(options),
  };
};

export const createSweeper = (options: SweeperOptions): Sweeper => {
  const { intake, onError } = options;
  const { sweep, lastSweep, hinted } = createLooks(options);
  let underWay: Promise<void> | undefined;
  let again = false;
  let finished = false;
  let flooded = false;
  let lastHint = '';

  const sweepOnce = async (): Promise<void> => {
    try {
      flooded = await sweep();
    } catch (thrown) {
      onError(thrown);
    }
  };

  const wake = (): void => {
    again = underWay !== undefined;
    if (!again && !finished && !flooded) begin(sweepOnce());
  };

  const begin = (work: Promise<void>): void => {
    underWay = work.finally(() => {
      underWay = undefined;
      if (again) wake();
    });
  };

  /** The second hint of a name is mostly that of its removal: it is not worth a token of the bucket. */
  const hint = (box: Box, name?: string): void => {
    if (name === undefined || name === lastHint || underWay !== undefined || finished || flooded) {
      wake();
      return;
    }
    lastHint = name;
    begin(hinted(box, name));
  };

  const finish = async (): Promise<void> => {
    finished = true;
    await underWay;
    if (!flooded) await lastSweep().catch(onError);
    await intake.settled();
  };

  return { wake, hint, finish };
};
