/**
 * Files to and from the host. What is written appears whole (temporary name, then rename). What is read is a regular
 * file of bounded size that parses, taken exactly once; nothing in `input/` is ever deleted, it may be read-only.
 */
import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, open, opendir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { InputFile, IPC_FILE_BYTES_MAX, type MessageRequest, type PromptMessage } from '../../src/protocol.ts';

const POLL_MS = 100;
/** How long the host may take to answer a request. */
const ANSWER_MS_MAX = 15_000;
const ENTRIES_MAX = 1000;
const INPUT_NAME = /^([A-Za-z0-9_-]{1,64})\.json$/;

export interface FollowUp {
  readonly id: string;
  readonly message: PromptMessage;
}
export type Answer = Extract<InputFile, { type: 'answer' }>;
type WithoutId<Request> = Request extends unknown ? Omit<Request, 'id'> : never;
/** A request without the id, which is chosen here. */
export type NewRequest = WithoutId<MessageRequest>;

export interface IpcOptions {
  readonly directory: string;
  readonly answerMsMax?: number;
}

export class Ipc {
  readonly #messages: string;
  readonly #input: string;
  readonly #answerMsMax: number;
  readonly #seen = new Set<string>();
  readonly #answers = new Map<string, Answer>();
  readonly #wakers = new Set<() => void>();
  #followUps: FollowUp[] = [];
  #scan: Promise<void> = Promise.resolve();

  constructor(options: IpcOptions) {
    this.#messages = join(options.directory, 'messages');
    this.#input = join(options.directory, 'input');
    this.#answerMsMax = options.answerMsMax ?? ANSWER_MS_MAX;
  }

  /** Asks the host and waits for its answer; null when none came in time. Rejects when aborted or not writable. */
  async request(request: NewRequest, signal: AbortSignal): Promise<Answer | null> {
    const id = randomUUID();
    const temporary = join(this.#messages, `.${id}.tmp`);
    await writeFile(temporary, JSON.stringify({ ...request, id }), { flag: 'wx' });
    await rename(temporary, join(this.#messages, `${id}.json`));
    const deadline = performance.now() + this.#answerMsMax;
    for (let answer = await this.#look(id); ; answer = await this.#look(id)) {
      signal.throwIfAborted();
      if (answer !== undefined) return answer;
      if (performance.now() >= deadline) return null;
      await this.#nextLook();
    }
  }

  /** Messages that came in since the last call, oldest first. */
  async takeFollowUps(): Promise<readonly FollowUp[]> {
    await this.#read();
    const taken = this.#followUps;
    this.#followUps = [];
    return taken.sort((a, b) =>
      a.message.at === b.message.at ? (a.id < b.id ? -1 : 1) : a.message.at < b.message.at ? -1 : 1,
    );
  }

  /** The host says that there is something in `input/`: whoever waits looks now. */
  poke(): void {
    for (const wake of this.#wakers) wake();
  }

  async #look(id: string): Promise<Answer | undefined> {
    await this.#read();
    const answer = this.#answers.get(id);
    this.#answers.delete(id);
    return answer;
  }

  async #nextLook(): Promise<void> {
    const poked = new AbortController();
    const wake = (): void => poked.abort();
    this.#wakers.add(wake);
    // The abort only cuts the wait short.
    await sleep(POLL_MS, undefined, { signal: poked.signal }).catch(() => undefined);
    this.#wakers.delete(wake);
  }

  /** One look at a time, so that no file is taken twice. */
  #read(): Promise<void> {
    this.#scan = this.#scan.then(() => this.#readNow());
    return this.#scan;
  }

  async #readNow(): Promise<void> {
    for (const id of await newIds(this.#input, this.#seen)) {
      this.#seen.add(id);
      const file = await readInput(join(this.#input, `${id}.json`));
      if (file?.id !== id) continue;
      if (file.type === 'answer') this.#answers.set(id, file);
      else this.#followUps.push({ id, message: file.message });
    }
  }
}

const newIds = async (directory: string, seen: ReadonlySet<string>): Promise<string[]> => {
  const ids: string[] = [];
  let entries = 0;
  try {
    for await (const entry of await opendir(directory)) {
      entries += 1;
      const id = INPUT_NAME.exec(entry.name)?.[1];
      if (id !== undefined && !seen.has(id)) ids.push(id);
      if (entries >= ENTRIES_MAX) break;
    }
  } catch {
    // No input directory (yet) is the same as an empty one.
  }
  return ids;
};

/** null: not a regular file, too large, or not an InputFile; the host never writes such, so it is nobody's message. */
const readInput = async (path: string): Promise<InputFile | null> => {
  let file: FileHandle | undefined;
  try {
    file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const stat = await file.stat();
    if (!stat.isFile() || stat.size > IPC_FILE_BYTES_MAX) return null;
    return InputFile.safeParse(JSON.parse(await file.readFile('utf8'))).data ?? null;
  } catch {
    // Gone, unreadable or not JSON: as above.
    return null;
  } finally {
    await file?.close();
  }
};
