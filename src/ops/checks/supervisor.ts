/** Checks of the supervisor: whether one runs, and what an earlier one has left behind where none does. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { isErrno } from '../../errors.ts';
import type { Home } from '../../home.ts';
import { type Check, type Examined, type Finding, failureOf, good, warning } from '../doctor.ts';

const checkRunning = ({ supervisor, version }: Examined): Finding => {
  if (!supervisor.ok) return failureOf(supervisor.error);
  if (supervisor.value === null) return warning('no supervisor runs: no message is answered', 'tierclaw up --detach');
  const { pid, version: running } = supervisor.value;
  if (running === version) return good(`running, pid ${pid}, version ${running}`);
  const hint = 'tierclaw down, then tierclaw up --detach';
  return warning(`pid ${pid} runs version ${running}; this is ${version}`, hint);
};

const entries = async (directory: string): Promise<string[]> => {
  try {
    return await readdir(directory);
  } catch (thrown) {
    if (isErrno(thrown, 'ENOENT') || isErrno(thrown, 'ENOTDIR')) return [];
    throw thrown;
  }
};

/** Directories that belong to one turn each; `ipc` holds them by group. */
const turnDirectories = async (home: Home): Promise<number> => {
  const ipc = (await entries(home.ipc)).map((group) => join(home.ipc, group));
  const lists = await Promise.all([home.turns, home.sockets, ...ipc].map(entries));
  return lists.reduce((sum, list) => sum + list.length, 0);
};

const checkLeftovers = async ({ home, supervisor, containers }: Examined): Promise<Finding> => {
  if (!supervisor.ok) return warning('not known whose they are', 'first mend the supervisor’s check');
  if (supervisor.value !== null) return good('the running supervisor looks after its own');
  const directories = await turnDirectories(home);
  const count = containers.ok ? containers.value : 0;
  if (count + directories === 0) return good(containers.ok ? 'none' : 'no directories; containers are not known');
  return warning(
    `${count} containers and ${directories} directories of turns that an earlier supervisor left behind`,
    'tierclaw up --detach removes them at its start',
  );
};

export const supervisorChecks: readonly Check[] = [
  { id: 'supervisor', title: 'supervisor', run: checkRunning },
  { id: 'leftovers', title: 'leftovers', run: checkLeftovers },
];
