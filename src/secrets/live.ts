/**
 * The secrets of a running home, read anew without a restart. Invariants: what is handed out changes as a whole; a
 * value that was ever known here is taken out of texts for as long as the process lives.
 */
import { type AppError, toAppError } from '../errors.ts';
import { missingSecret, type SecretOwner, type Secrets } from '../secrets.ts';
import { createFinder, type Finder } from './finder.ts';
import { agentEnvFile, commandId, readSources, type SecretSources, type Source } from './sources.ts';

export interface KnownSecret {
  readonly name: string;
  readonly owner: SecretOwner;
  /** A file, or `command` and the program's name. */
  readonly origin: string;
}

export interface LiveSecrets extends Secrets {
  /** Sources that can't be used now; what they gave before still holds. */
  problems(): readonly AppError[];
  /** All that are known, without their values. */
  list(): readonly KnownSecret[];
  /** Reads all sources again, one reload after the other; `files`: without running commands. Never rejects. */
  reload(what: 'all' | 'files'): Promise<void>;
}

/** Secrets that were replaced and are still taken out of texts; beyond it the oldest go. */
const RETIRED_MAX = 1_000;

type Sources = ReadonlyMap<string, Source>;

interface State {
  readonly sources: Sources;
  /** Every value that is or was known, oldest first. */
  readonly known: readonly string[];
  readonly finder: Finder;
}

const valuesOf = (sources: Sources): string[] => [...sources.values()].flatMap(({ values }) => [...values.values()]);

const stateOf = (sources: Sources, before: readonly string[]): State => {
  const current = new Set(valuesOf(sources));
  const retired = before.filter((value) => !current.has(value)).slice(-RETIRED_MAX);
  const known = [...retired, ...current];
  return { sources, known, finder: createFinder(known) };
};

const find = ({ sources }: State, name: string, owner: SecretOwner): string | undefined => {
  for (const source of sources.values()) {
    const value = source.owner === owner ? source.values.get(name) : undefined;
    if (value !== undefined) return value;
  }
  return undefined;
};

/** Why there is no such secret: its source is broken, or it stands nowhere. */
const whyMissing = ({ sources }: State, { home }: SecretSources, { name, owner }: KnownAs): AppError => {
  const file = owner === null ? home.envFile : agentEnvFile(home, owner);
  const broken = (owner === null ? sources.get(commandId(name)) : undefined) ?? sources.get(file);
  return broken?.problem ?? missingSecret(name, file);
};

type KnownAs = Pick<KnownSecret, 'name' | 'owner'>;

const list = ({ sources }: State): KnownSecret[] =>
  [...sources.values()].flatMap(({ owner, origin, values }) =>
    [...values.keys()].map((name) => ({ name, owner, origin })),
  );

/** What can't be read at all, beside what could be before. */
const withProblem = (sources: Sources, { agents }: SecretSources['home'], thrown: unknown): Sources => {
  const problem = toAppError(thrown);
  return new Map([...sources, [agents, { id: agents, owner: null, origin: agents, values: new Map(), problem }]]);
};

const facade = (sources: SecretSources, first: Sources): LiveSecrets => {
  let state = stateOf(first, []);
  let last: Promise<void> = Promise.resolve();
  const reload = async (what: 'all' | 'files'): Promise<void> => {
    const read = await readSources(sources, state.sources, what).catch((thrown: unknown) =>
      withProblem(state.sources, sources.home, thrown),
    );
    state = stateOf(read, state.known);
  };
  return {
    get: (name, owner = null) => find(state, name, owner),
    require: (name, owner = null) => {
      const value = find(state, name, owner);
      if (value !== undefined && value !== '') return value;
      throw whyMissing(state, sources, { name, owner });
    },
    redact: (text) => state.finder.redact(text),
    filter: () => state.finder.filter(),
    problems: () => [...state.sources.values()].flatMap(({ problem }) => (problem === null ? [] : [problem])),
    list: () => list(state),
    reload: (what) => {
      last = last.then(() => reload(what));
      return last;
    },
  };
};

/** Reads everything once. A source that can't be read is among the problems; nothing is thrown for it. */
export const readSecrets = async (sources: SecretSources): Promise<LiveSecrets> =>
  facade(sources, await readSources(sources, new Map(), 'all'));

/** The same for a supervisor. Throws AppError `config` where the home's own `.env` can't be read. */
export const openSecrets = async (sources: SecretSources): Promise<LiveSecrets> => {
  const first = await readSources(sources, new Map(), 'all');
  const problem = first.get(sources.home.envFile)?.problem ?? null;
  if (problem !== null) throw problem;
  return facade(sources, first);
};
