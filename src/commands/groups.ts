/** `tierclaw groups list|register|show`. */
import { loadConfig } from '../config.ts';
import type { Group } from '../domain/group.ts';
import { groupDirectory } from '../home.ts';
import type { CommandContext, CommandResult } from './context.ts';
import { findGroup, withStores } from './groups-find.ts';
import { parseRegistration, type Registration, registerGroup } from './groups-register.ts';
import { hintFor } from './hints.ts';
import { makeDirectory } from './scaffold.ts';
import { renderTable } from './table.ts';
import { terminalLine } from './terminal.ts';

const HEAD = ['folder', 'tier', 'id', 'agent', 'name'];

/** Names come from chats; the other columns have patterns. */
const rowOf = ({ folder, tier, id, agent, name }: Group): string[] => [folder, tier, id, agent, terminalLine(name)];

export const renderGroups = (groups: readonly Group[]): string =>
  groups.length === 0
    ? 'no group is registered; make the default ones with: tierclaw init'
    : renderTable([HEAD, ...groups.map(rowOf)]);

export const listGroups = async ({ home }: CommandContext): Promise<CommandResult> => {
  const groups = await withStores(home, (stores) => stores.groups.list());
  return { text: renderGroups(groups), data: groups };
};

export const showGroup = async ({ home, homeOption }: CommandContext, asked: string): Promise<CommandResult> => {
  const group = await withStores(home, (stores) => findGroup(stores, asked));
  const directory = groupDirectory(home, group.folder);
  const rows = [
    ['name', terminalLine(group.name)],
    ['id', group.id],
    ['tier', group.tier],
    ['agent', group.agent],
    ['folder', directory],
    ['registered', group.registeredAt],
  ];
  const next = hintFor(`\n\nwhat its turns get: tierclaw plan ${group.folder}`, homeOption);
  return { text: renderTable(rows) + next, data: { ...group, directory } };
};

export const register = async ({ home, homeOption }: CommandContext, asked: Registration): Promise<CommandResult> => {
  const wanted = parseRegistration(asked, await loadConfig(home));
  const { group, folder } = await withStores(home, async (stores) => {
    await makeDirectory(home.groups);
    return registerGroup(home, stores, wanted);
  });
  const what = folder === 'made' ? 'made' : 'was there';
  const text = [
    `registered ${group.id} as "${terminalLine(group.name)}", tier ${group.tier}, agent ${group.agent}`,
    `folder ${groupDirectory(home, group.folder)} (${what})`,
    hintFor(`what its turns get: tierclaw plan ${group.folder}`, homeOption),
  ].join('\n');
  return { text, data: group };
};
