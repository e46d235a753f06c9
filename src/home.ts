/** The layout of a home: every host path that the program uses, derived from the home's directory and nothing else. */
import { join, resolve } from 'node:path';
import type { AgentAlias, GroupFolder, InvocationId } from './domain/ids.ts';
import { SHARED_MEMORY_FOLDER } from './domain/tiers.ts';

export interface Home {
  readonly dir: string;
  readonly configFile: string;
  readonly envFile: string;
  readonly groups: string;
  readonly global: string;
  readonly agents: string;
  readonly trusted: string;
  /** 0700: nothing below is mounted but the directories of a turn. */
  readonly data: string;
  readonly stateDatabase: string;
  readonly messageDatabase: string;
  /** Published copies of the message database. */
  readonly published: string;
  readonly backups: string;
  /** Composed tile sets, one per list of tiles; made anew by each supervisor. */
  readonly tiles: string;
  readonly turns: string;
  readonly ipc: string;
  readonly sockets: string;
  readonly quarantine: string;
  /** Copies of files that were sent into chats. */
  readonly outfiles: string;
  readonly trash: string;
  readonly logs: string;
  readonly auditFile: string;
  readonly controlSocket: string;
  readonly lockFile: string;
}

export const homeAt = (directory: string): Home => {
  const dir = resolve(directory);
  const data = join(dir, 'data');
  return {
    dir,
    configFile: join(dir, 'tierclaw.yaml'),
    envFile: join(dir, '.env'),
    groups: join(dir, 'groups'),
    global: join(dir, 'groups', 'global'),
    agents: join(dir, 'agents'),
    trusted: join(dir, SHARED_MEMORY_FOLDER),
    data,
    stateDatabase: join(data, 'state.db'),
    messageDatabase: join(data, 'store', 'messages.db'),
    published: join(data, 'store', 'published'),
    backups: join(data, 'backups'),
    tiles: join(data, 'tiles'),
    turns: join(data, 'turns'),
    ipc: join(data, 'ipc'),
    sockets: join(data, 'run'),
    quarantine: join(data, 'quarantine'),
    outfiles: join(data, 'outfiles'),
    trash: join(data, 'trash'),
    logs: join(data, 'logs'),
    auditFile: join(data, 'audit.jsonl'),
    controlSocket: join(data, 'control.sock'),
    lockFile: join(data, 'supervisor.lock'),
  };
};

export const groupDirectory = (home: Home, folder: GroupFolder): string => join(home.groups, folder);

export const agentWorkspace = (home: Home, alias: AgentAlias): string => join(home.agents, alias, 'workspace');

/** The directories of one invocation; all are made fresh for it and gone after it. */
export interface TurnDirectories {
  /** Persona, tiles and the database of this turn: written by the host, read-only in every container. */
  readonly turn: string;
  readonly ipc: string;
  readonly socket: string;
}

export const turnDirectories = (home: Home, folder: GroupFolder, invocation: InvocationId): TurnDirectories => ({
  turn: join(home.turns, invocation),
  ipc: join(home.ipc, folder, invocation),
  socket: join(home.sockets, invocation),
});
