/**
 * Where secrets come from: `.env`, `agents/<alias>/.env`, commands. Invariant: an agent's file gives secrets to that
 * agent alone, and a source that can't be read now keeps what it gave before.
 */
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { SecretCommands } from '../domain/credential-config.ts';
import { AgentAlias } from '../domain/ids.ts';
import { type AppError, isErrno, toAppError } from '../errors.ts';
import type { Home } from '../home.ts';
import { readCommand } from './command.ts';
import { fileError, readEnvFile } from './file.ts';

type Place = Pick<Home, 'envFile' | 'agents'>;

export interface SecretSources {
  readonly home: Place;
  /** As the configuration has them. */
  readonly commands: SecretCommands;
}

export type Values = ReadonlyMap<string, string>;

/** A source as it was last read. */
export interface Source {
  readonly id: string;
  /** An agent's alias; null: the home. */
  readonly owner: string | null;
  /** A file, or `command` and the program's name. */
  readonly origin: string;
  readonly values: Values;
  /** Why it can't be read now. */
  readonly problem: AppError | null;
}

interface Reading extends Pick<Source, 'id' | 'owner' | 'origin'> {
  readonly isCommand: boolean;
  readonly read: () => Promise<Values>;
}

export const agentEnvFile = ({ agents }: Pick<Home, 'agents'>, alias: string): string => join(agents, alias, '.env');

/** Aliases of all agents that have a directory of their own. */
const agentsOf = async ({ agents }: Place): Promise<string[]> => {
  try {
    const entries = await readdir(agents, { withFileTypes: true });
    const directories = entries.filter((entry) => entry.isDirectory());
    return directories.map(({ name }) => name).filter((name) => AgentAlias.safeParse(name).success);
  } catch (thrown) {
    if (isErrno(thrown, 'ENOENT') || isErrno(thrown, 'ENOTDIR')) return [];
    throw thrown;
  }
};

/** In a directory of somebody else's, the file could be exchanged for another one of ours. */
const checkOwnDirectory = async (directory: string): Promise<void> => {
  const found = await lstat(directory);
  const own = process.getuid?.() ?? found.uid;
  if (found.isDirectory() && found.uid === own) return;
  throw fileError(directory, `it is not a directory of uid ${own}`, `look at it: ls -ld '${directory}'`);
};

const readHomeFile = async ({ home, commands }: SecretSources): Promise<Values> => {
  const values = await readEnvFile(home.envFile);
  const twice = [...values.keys()].find((name) => Object.hasOwn(commands, name));
  if (twice === undefined) return values;
  throw fileError(home.envFile, `${twice} comes from a command in tierclaw.yaml, too`, 'remove one of the two');
};

const readAgentFile = async (home: Place, alias: string): Promise<Values> => {
  const values = await readEnvFile(agentEnvFile(home, alias));
  if (values.size > 0) await checkOwnDirectory(join(home.agents, alias));
  return values;
};

const readingsOf = async (sources: SecretSources): Promise<Reading[]> => {
  const { home, commands } = sources;
  const own = {
    id: home.envFile,
    owner: null,
    origin: home.envFile,
    isCommand: false,
    read: () => readHomeFile(sources),
  };
  const agents = (await agentsOf(home)).map((alias) => ({
    id: agentEnvFile(home, alias),
    owner: alias,
    origin: agentEnvFile(home, alias),
    isCommand: false,
    read: () => readAgentFile(home, alias),
  }));
  const printed = Object.entries(commands).map(([name, command]) => ({
    id: commandId(name),
    owner: null,
    origin: `command ${command.command[0]}`,
    isCommand: true,
    read: async () => new Map([[name, await readCommand(name, command)]]),
  }));
  return [own, ...agents, ...printed];
};

/** The id of the source that gives this secret. */
export const commandId = (name: string): string => `command:${name}`;

const readSource = async ({ id, owner, origin, read }: Reading, before: Source | undefined): Promise<Source> => {
  try {
    return { id, owner, origin, values: await read(), problem: null };
  } catch (thrown) {
    return { id, owner, origin, values: before?.values ?? new Map(), problem: toAppError(thrown) };
  }
};

/** All sources, read at once. `what` is `files`: a command that has been run isn't run again. */
export const readSources = async (
  sources: SecretSources,
  before: ReadonlyMap<string, Source>,
  what: 'all' | 'files',
): Promise<ReadonlyMap<string, Source>> => {
  const readings = await readingsOf(sources);
  const read = await Promise.all(
    readings.map((reading) => {
      const known = before.get(reading.id);
      return reading.isCommand && what === 'files' && known !== undefined ? known : readSource(reading, known);
    }),
  );
  return new Map(read.map((source) => [source.id, source]));
};
