/**
 * One file of an inbox from its name to its answer. Each request id is handled once; what can't be a request leaves
 * the inbox unopened or unread, is reported, and is answered where its name tells the id.
 */
import { type RefusalReason, shown } from '../files/refusal.ts';
import type { MessageRequest } from '../protocol.ts';
import type { Box } from './ipc-boxes.ts';
import { idOfFile, type OtherRequest, type Parsed, type ParseFault, parseRequest } from './ipc-parse.ts';
import type { BadFile, Quarantine } from './ipc-quarantine.ts';

/** A file that isn't whole yet may be one that is being written in place, by an agent's own shell say. */
const YOUNG_MS = 1_000;

export interface Answer {
  readonly ok: boolean;
  /** The agent sees it. */
  readonly detail: string;
}

export type InboxFault = RefusalReason | ParseFault | 'duplicate' | 'too-many' | 'left-over' | 'answer' | 'stuck';

export interface IntakeOptions {
  readonly fileBytes: number;
  /** Requests of one invocation; the ids are remembered. */
  readonly requests: number;
  readonly clock: () => number;
  readonly quarantine: Quarantine;
  readonly answer: (id: string, answer: Answer) => Promise<void>;
  readonly onRequest: (request: MessageRequest) => Promise<Answer>;
  readonly onOther: (request: OtherRequest) => Promise<Answer>;
  readonly onRefusal: (kind: InboxFault, detail: string) => void;
  readonly onError: (thrown: unknown) => void;
}

export interface Intake {
  /** Takes one file in; `last`: there is no later. Its request, if it is one, is performed after those before it. */
  take(box: Box, name: string, last: boolean): Promise<void>;
  /** Could not be removed: it is not looked at again. */
  isStuck(box: Box, name: string): boolean;
  /** Requests that wait for being performed. */
  backlog(): number;
  /** Resolves when all that was taken in has been performed and answered. Never rejects. */
  settled(): Promise<void>;
}

type Request = Exclude<Parsed, { kind: 'bad' }>;

interface Fault {
  readonly kind: RefusalReason | ParseFault;
  readonly detail: string;
  /** How it leaves the inbox. */
  readonly reason: BadFile['reason'];
  readonly id?: string | undefined;
  readonly bytes?: Buffer | undefined;
}

type Reading = { readonly request: Request } | { readonly fault: Fault };

/** So many names are remembered; a container that makes more is at its own expense. */
const NAMES_MAX = 1000;

const INCOMPLETE: ReadonlySet<Fault['kind']> = new Set(['changed', 'not-utf8', 'not-json']);

const readRequest = async (box: Box, name: string, maxBytes: number): Promise<Reading> => {
  const file = await box.directory.readFile([name], maxBytes);
  if (!file.ok) return { fault: { kind: file.reason, detail: file.detail, reason: file.reason } };
  const parsed = parseRequest(file.value);
  if (parsed.kind !== 'bad') return { request: parsed };
  const { fault: kind, detail, id } = parsed;
  return { fault: { kind, detail: `${shown(name)}: ${detail}`, reason: 'content', id, bytes: file.value } };
};

/** Remembers names that are left alone from now on. */
const createNames = () => {
  const names = new Set<string>();
  return {
    has: (name: string): boolean => names.has(name),
    add: (name: string): void => {
      if (names.size >= NAMES_MAX) names.clear();
      names.add(name);
    },
  };
};

/** Knows how long a file has been incomplete, by the host's clock: the container can set a file's times. */
const createNursery = (clock: () => number) => {
  const firstSeen = new Map<string, number>();
  return {
    mayGrow: (key: string): boolean => {
      if (firstSeen.size >= NAMES_MAX) firstSeen.clear();
      const since = firstSeen.get(key) ?? clock();
      firstSeen.set(key, since);
      return clock() - since < YOUNG_MS;
    },
    forget: (key: string): void => {
      firstSeen.delete(key);
    },
  };
};

/** Performs one request after the other, each id once. */
const createPerformer = (options: IntakeOptions) => {
  const handled = new Set<string>();
  let waiting = 0;
  let performing: Promise<void> = Promise.resolve();

  const decide = async (request: Request): Promise<Answer> => {
    try {
      return request.kind === 'message'
        ? await options.onRequest(request.request)
        : await options.onOther(request.request);
    } catch (thrown) {
      options.onError(thrown);
      return { ok: false, detail: 'the request could not be carried out: an error on the host' };
    }
  };

  const admit = (id: string): Answer | null => {
    if (handled.size < options.requests) {
      handled.add(id);
      return null;
    }
    options.onRefusal('too-many', `more than ${options.requests} requests in one turn`);
    return { ok: false, detail: `refused: at most ${options.requests} requests in one turn` };
  };

  const perform = (request: Request): void => {
    const { id } = request.request;
    if (handled.has(id)) {
      options.onRefusal('duplicate', `request ${id} was there before; it is handled once`);
      return;
    }
    const refused = admit(id);
    const act = async (): Promise<void> => options.answer(id, refused ?? (await decide(request)));
    // With nothing to wait for it begins at once: not after its file has been taken away.
    const acted = waiting === 0 ? act() : performing.then(act);
    waiting += 1;
    performing = acted.catch(options.onError).finally(() => {
      waiting -= 1;
    });
  };

  return {
    perform,
    wasHandled: (id: string): boolean => handled.has(id),
    backlog: () => waiting,
    settled: () => performing,
  };
};

export const createIntake = (options: IntakeOptions): Intake => {
  const { onRefusal, quarantine } = options;
  const performer = createPerformer(options);
  const nursery = createNursery(options.clock);
  const stuck = createNames();

  const reject = async (box: Box, name: string, fault: Fault): Promise<void> => {
    onRefusal(fault.kind, `${box.name}: ${fault.detail}`);
    const { reason, bytes } = fault;
    const gone = await quarantine.take({ box: box.directory, name, reason, bytes }).catch((thrown: unknown) => {
      options.onError(thrown);
      return false;
    });
    if (!gone) stuck.add(`${box.name}/${name}`);
    const id = fault.id ?? idOfFile(name);
    if (id === undefined || performer.wasHandled(id)) return;
    await options.answer(id, { ok: false, detail: `refused: ${fault.detail}` });
  };

  const accept = async (box: Box, name: string, request: Request): Promise<void> => {
    // Its id is remembered from here on, so a file that can't be removed is not performed again.
    performer.perform(request);
    const removed = await box.directory.remove(name);
    if (!removed.ok && removed.reason !== 'missing') {
      stuck.add(`${box.name}/${name}`);
      onRefusal('stuck', `${box.name}: ${removed.detail}`);
    }
  };

  const take: Intake['take'] = async (box, name, last) => {
    const key = `${box.name}/${name}`;
    const reading = await readRequest(box, name, options.fileBytes);
    if ('fault' in reading) {
      const { kind } = reading.fault;
      if (kind === 'missing' || (!last && INCOMPLETE.has(kind) && nursery.mayGrow(key))) return;
    }
    nursery.forget(key);
    await ('fault' in reading ? reject(box, name, reading.fault) : accept(box, name, reading.request));
  };

  return {
    take,
    isStuck: (box, name) => stuck.has(`${box.name}/${name}`),
    backlog: performer.backlog,
    settled: performer.settled,
  };
};
