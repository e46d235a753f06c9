/** `tierclaw init`: makes a home, or what is missing of it. May be run at any time; it never writes over anything. */
import { join, relative } from 'node:path';
import { loadConfig } from '../config.ts';
import type { Group } from '../domain/group.ts';
import { AgentAlias } from '../domain/ids.ts';
import { SOLE_TIER, TIER_NAMES } from '../domain/tiers.ts';
import { agentWorkspace, type Home } from '../home.ts';
import { openStores, type Stores } from '../store/stores.ts';
import type { CommandContext, CommandResult } from './context.ts';
import { parseRegistration, registerGroup } from './groups-register.ts';
import { hintFor } from './hints.ts';
import { makeDirectory, makeFile, type Outcome } from './scaffold.ts';
import { renderTable } from './table.ts';

export interface InitStep {
  /** Below the home, or a group's id. */
  readonly what: string;
  readonly outcome: Outcome;
}

const PRIVATE_FILE = 0o600;
const PRIVATE_DIRECTORY = 0o700;

const directoriesOf = (home: Home): string[] => [
  home.groups,
  home.global,
  home.agents,
  join(home.agents, 'default'),
  agentWorkspace(home, AgentAlias.parse('default')),
  home.trusted,
];

const filesOf = (home: Home): readonly (readonly [string, string])[] => [
  [home.configFile, 'tierclaw.yaml'],
  [join(home.global, 'SOUL.md'), 'SOUL.md'],
  [join(home.global, 'SOUL-untrusted.md'), 'SOUL-untrusted.md'],
  [join(home.global, 'CLAUDE.md'), 'CLAUDE.md'],
];

/** One local group per tier, in the table's order; the first has the name of its tier, which only one group has. */
const FOLDERS: readonly string[] = [SOLE_TIER, 'friends', 'lobby'];

const makeTree = async (home: Home): Promise<InitStep[]> => {
  const steps: InitStep[] = [];
  const note = (path: string, outcome: Outcome): void => {
    steps.push({ what: relative(home.dir, path) || '.', outcome });
  };
  note(home.dir, await makeDirectory(home.dir));
  note(home.data, await makeDirectory(home.data, PRIVATE_DIRECTORY, true));
  for (const path of directoriesOf(home)) note(path, await makeDirectory(path));
  for (const [path, template] of filesOf(home)) note(path, await makeFile(path, template));
  note(home.envFile, await makeFile(home.envFile, 'env', PRIVATE_FILE));
  return steps;
};

/** A tier that only one group may have, and that one has already, gets no second group. */
const isWanted = (stores: Stores, group: Omit<Group, 'registeredAt'>): boolean =>
  group.tier !== SOLE_TIER || stores.groups.list().every(({ tier }) => tier !== SOLE_TIER);

const makeGroups = async (home: Home, stores: Stores): Promise<InitStep[]> => {
  const config = await loadConfig(home);
  const steps: InitStep[] = [];
  for (const [at, tier] of TIER_NAMES.entries()) {
    const folder = FOLDERS[at] ?? tier;
    const group = parseRegistration({ id: `local:${folder}`, folder, tier }, config);
    const what = `group ${group.id} (tier ${tier})`;
    const isThere = stores.groups.find(group.id) !== null || stores.groups.find(folder) !== null;
    const isNew = !isThere && isWanted(stores, group);
    if (isNew) await registerGroup(home, stores, group);
    if (isNew || isThere) steps.push({ what, outcome: isNew ? 'made' : 'kept' });
  }
  return steps;
};

const WORDS: Readonly<Record<Outcome, string>> = {
  made: 'made',
  kept: 'was there',
  mended: 'was there; others’ rights taken away',
};

const render = ({ home, homeOption }: CommandContext, steps: readonly InitStep[]): string => {
  const rows = steps.map(({ what, outcome }) => [what, WORDS[outcome]]);
  const next = hintFor('next: edit groups/global/SOUL.md, then: tierclaw up --detach', homeOption);
  return `home ${home.dir}\n${renderTable(rows, 2)}\n\n${next}`;
};

export const init = async (context: CommandContext): Promise<CommandResult> => {
  const { home } = context;
  const steps = await makeTree(home);
  const stores = openStores(home, Date.now);
  try {
    steps.push(...(await makeGroups(home, stores)));
  } finally {
    stores.close();
  }
  return { text: render(context, steps), data: { home: home.dir, steps } };
};
