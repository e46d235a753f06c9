/**
 * The IPC inbox of one invocation, seen from the host: requests come in as files, answers and follow-ups go out as
 * files. What lies there is a claim by whatever runs in the container; who asks is which directory, never a field.
 */

import { AppError } from '../errors.ts';
import type { Directory } from '../files/beneath.ts';
import type { Found } from '../files/refusal.ts';
import { type InputFile, IPC_FILE_BYTES_MAX, type MessageRequest, type PromptMessage } from '../protocol.ts';
import { type Boxes, type InboxLayout, makeBoxes } from './ipc-boxes.ts';
import { createBucket } from './ipc-bucket.ts';
import { type Answer, createIntake, type InboxFault } from './ipc-intake.ts';
import type { OtherRequest } from './ipc-parse.ts';
import { openQuarantine, type Quarantine } from './ipc-quarantine.ts';
import { createSweeper, type Sweeper } from './ipc-sweep.ts';
import { watchForHints } from './ipc-watch.ts';

export type { Answer, InboxFault, InboxLayout, OtherRequest };

/** An answer's detail, in UTF-16 units: the model reads it. */
const DETAIL_CHARS_MAX = 4000;

export interface InboxLimits {
  /** Entries in one directory; one more ends the turn. */
  readonly entries: number;
  readonly fileBytes: number;
  /** Files taken in, good or bad: so many per second in the long run, so many at once. */
  readonly filesPerSecond: number;
  readonly burst: number;
  /** Requests in one turn. */
  readonly requests: number;
  /** Files that are still taken in when the turn has ended. */
  readonly finalFiles: number;
  /** Entries in the quarantine directory, and bytes that this inbox may add to it. */
  readonly quarantineEntries: number;
  readonly quarantineBytes: number;
  readonly sweepMs: number;
}

export const INBOX_LIMITS: InboxLimits = {
  entries: 1000,
  fileBytes: IPC_FILE_BYTES_MAX,
  filesPerSecond: 10,
  burst: 30,
  requests: 300,
  finalFiles: 100,
  quarantineEntries: 1000,
  quarantineBytes: 16 * 1024 * 1024,
  sweepMs: 500,
};

export interface InboxOptions {
  /** Made here, of this invocation alone; its parents are host-only. */
  readonly directory: string;
  readonly layout: InboxLayout;
  /** The container's. */
  readonly uid: number;
  /** Host-only, on the same file system; stays open and is not closed here. */
  readonly quarantine: Directory;
  readonly limits: InboxLimits;
  /** Performs a well-formed request, and says what the agent is told. One at a time, in order. */
  onRequest(request: MessageRequest): Promise<Answer>;
  /** A request of a kind that can't be performed: says why, for the agent. */
  onOther(request: OtherRequest): Promise<Answer>;
  /** Something that is no acceptable request: for the audit trail. `detail` is bounded; names in it are escaped. */
  onRefusal(kind: InboxFault, detail: string): void;
  /** Too many entries; called once, and nothing is taken in any more. The turn has to end (`disk`). */
  onFlood(detail: string): void;
  onError(thrown: unknown): void;
  /** Tells the runner to look into `input/`. */
  poke(): void;
}

export type Snapshot = 'available_groups.json' | 'current_tasks.json';

export interface Inbox {
  /** Only in the `whole` layout (else throws AppError `internal`). False: a container made it impossible. */
  writeSnapshot(name: Snapshot, content: unknown): Promise<boolean>;
  /** Hands a message to the running turn. False: it could not be put there. */
  addFollowUp(id: string, message: PromptMessage): Promise<boolean>;
  /** Takes in what arrived before, within bounds, then lets go of everything. Idempotent; never rejects. */
  close(): Promise<void>;
}

interface Input {
  put(file: InputFile): Promise<boolean>;
  answer(id: string, answer: Answer): Promise<void>;
  snapshot(name: Snapshot, content: unknown): Promise<boolean>;
}

/** What the host writes. */
const createInput = ({ onRefusal, poke, directory, layout }: InboxOptions, { input, root }: Boxes): Input => {
  const report = (name: string, written: Found<void>): boolean => {
    if (!written.ok) onRefusal('answer', `${name}: ${written.detail}`);
    return written.ok;
  };
  const put = async (file: InputFile): Promise<boolean> => {
    const written = await input.writeFile(`${file.id}.json`, JSON.stringify(file), { mode: 0o644 });
    if (!report('input', written)) return false;
    poke();
    return true;
  };
  return {
    put,
    answer: async (id, { ok, detail }) => {
      await put({ type: 'answer', id, ok, detail: detail.slice(0, DETAIL_CHARS_MAX) });
    },
    snapshot: async (name, content) => {
      if (layout === 'whole') {
        return report('snapshot', await root.writeFile(name, JSON.stringify(content), { mode: 0o644 }));
      }
      throw new AppError({ code: 'internal', message: `${directory} has no place for ${name}: its layout is split` });
    },
  };
};

const createSweeping = (
  options: InboxOptions,
  boxes: Boxes,
  parts: { input: Input; quarantine: Quarantine },
): Sweeper => {
  const { limits, onRequest, onOther, onRefusal, onFlood, onError } = options;
  const clock = (): number => performance.now();
  const { fileBytes, requests, finalFiles } = limits;
  const { answer } = parts.input;
  const { quarantine } = parts;
  return createSweeper({
    boxes: boxes.outgoing,
    intake: createIntake({
      fileBytes,
      requests,
      clock,
      quarantine,
      answer,
      onRequest,
      onOther,
      onRefusal,
      onError,
    }),
    bucket: createBucket(limits.filesPerSecond, limits.burst, clock),
    maxEntries: limits.entries,
    finalFiles,
    onFlood,
    onRefusal,
    onError,
  });
};

/** Sweeps at every hint and every so often. Returns what stops it. */
const startSweeping = (sweeper: Sweeper, boxes: Boxes, sweepMs: number): (() => void) => {
  const hints = boxes.outgoing.map((box) =>
    watchForHints(box.directory.descriptorPath, (name) => sweeper.hint(box, name)),
  );
  const timer = setInterval(sweeper.wake, sweepMs);
  return () => {
    clearInterval(timer);
    for (const hint of hints) hint.close();
  };
};

/** Makes the directories and begins to take requests in. Throws AppError `refused` when a link stands in the way. */
export const openInbox = async (options: InboxOptions): Promise<Inbox> => {
  const { directory, limits, onError } = options;
  const quarantine = await openQuarantine({
    directory: options.quarantine,
    inbox: directory,
    maxEntries: limits.quarantineEntries,
    maxBytes: limits.quarantineBytes,
    onError,
  });
  const boxes = await makeBoxes(directory, options.layout, options.uid);
  const input = createInput(options, boxes);
  const sweeper = createSweeping(options, boxes, { input, quarantine });
  const stop = startSweeping(sweeper, boxes, limits.sweepMs);
  const shut = async (): Promise<void> => {
    stop();
    await sweeper.finish();
    await boxes.close().catch(onError);
  };
  let closing: Promise<void> | undefined;
  return {
    writeSnapshot: input.snapshot,
    addFollowUp: async (id, message) => closing === undefined && input.put({ type: 'follow-up', id, message }),
    close: () => {
      closing ??= shut();
      return closing;
    },
  };
};
