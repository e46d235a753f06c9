/**
 * Registering a group. Invariant: everything is checked before anything is made, and what was made is taken back when
 * the store refuses; nothing half-done remains.
 */
import { rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { z } from 'zod';
import { CHANNEL_INSTANCES, type Config } from '../config.ts';
import type { Group } from '../domain/group.ts';
import { AgentAlias, GroupFolder, GroupId } from '../domain/ids.ts';
import { DEFAULT_TIER, TIER_NAMES, TierName } from '../domain/tiers.ts';
import { AppError } from '../errors.ts';
import { groupDirectory, type Home } from '../home.ts';
import type { Stores } from '../store/stores.ts';
import { putOnRecord } from './on-record.ts';
import { makeDirectory, makeFile, type Outcome } from './scaffold.ts';
import { terminalLine } from './terminal.ts';

/** As typed by the operator. */
export interface Registration {
  readonly id: string;
  readonly folder: string;
  readonly tier?: string;
  readonly name?: string;
  readonly agent?: string;
}

/** Every home has this one, whether its configuration names it or not. */
const DEFAULT_AGENT = 'default';
const NAME_CHARS_MAX = 200;
const SHOWN_CHARS_MAX = 60;

const shown = (value: string): string => `"${terminalLine(value, SHOWN_CHARS_MAX)}"`;

const invalid = (what: string, value: string, allowed: string): AppError =>
  new AppError({
    code: 'usage',
    message: `${what} ${shown(value)} (${[...value].length} characters): ${allowed}`,
    hint: 'tierclaw groups register --help',
  });

const parseAs = <S extends z.ZodType>(schema: S, what: string, value: string): z.output<S> => {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw invalid(what, value, parsed.error.issues[0]?.message ?? 'not allowed');
};

const parseTier = (value: string): TierName => {
  const parsed = TierName.safeParse(value);
  if (parsed.success) return parsed.data;
  throw invalid('--tier', value, `a tier is one of ${TIER_NAMES.join(', ')}`);
};

const parseName = (value: string): string => {
  if (value !== '' && value.length <= NAME_CHARS_MAX && terminalLine(value, NAME_CHARS_MAX) === value) return value;
  throw invalid('--name', value, `a name is 1–${NAME_CHARS_MAX} characters on one line, without control characters`);
};

const parseAgent = (value: string, config: Config): AgentAlias => {
  const alias = parseAs(AgentAlias, '--agent', value);
  const known = [...new Set([DEFAULT_AGENT, ...Object.keys(config.agents)])];
  if (known.includes(alias)) return alias;
  throw new AppError({
    code: 'not-found',
    message: `--agent ${shown(value)}: there is no such agent; there are: ${known.join(', ')}`,
    hint: 'agents are declared in tierclaw.yaml, below `agents:`',
  });
};

const parseId = (value: string): GroupId => {
  const id = parseAs(GroupId, 'group id', value);
  const instance = id.slice(0, id.indexOf(':'));
  if (CHANNEL_INSTANCES.includes(instance)) return id;
  throw invalid('group id', value, `there is no channel "${instance}"; there are: ${CHANNEL_INSTANCES.join(', ')}`);
};

/** Throws AppError `usage` or `not-found` naming the option, what was found and what is allowed. */
export const parseRegistration = (asked: Registration, config: Config): Omit<Group, 'registeredAt'> => {
  const id = parseId(asked.id);
  const folder = parseAs(GroupFolder, '--folder', asked.folder);
  return {
    id,
    folder,
    tier: parseTier(asked.tier ?? DEFAULT_TIER),
    name: parseName(asked.name ?? folder),
    agent: parseAgent(asked.agent ?? DEFAULT_AGENT, config),
  };
};

interface Made {
  readonly path: string;
  readonly outcome: Outcome;
}

const takeBack = async (directory: Made, instructions: Made | null): Promise<void> => {
  if (instructions?.outcome === 'made') await rm(instructions.path);
  // Only while it is empty: what somebody else put there meanwhile stays.
  if (directory.outcome === 'made') await rmdir(directory.path);
};

/** Undone at once: it only finds out whether the store would refuse. */
const REHEARSED = new Error('rehearsed');

const rehearse = (stores: Stores, group: Group): void => {
  try {
    stores.together(() => {
      stores.groups.register(group);
      throw REHEARSED;
    });
  } catch (thrown) {
    if (thrown !== REHEARSED) throw thrown;
  }
};

/** Makes the group's folder and its record. Throws AppError `conflict` where either is taken. */
export const registerGroup = async (
  home: Home,
  stores: Stores,
  asked: Omit<Group, 'registeredAt'>,
): Promise<{ group: Group; folder: Outcome }> => {
  const group = { ...asked, registeredAt: new Date().toISOString() };
  const path = groupDirectory(home, group.folder);
  const directory: Made = { path, outcome: await makeDirectory(path) };
  let instructions: Made | null = null;
  try {
    const file = join(path, 'CLAUDE.md');
    instructions = { path: file, outcome: await makeFile(file, 'group.md') };
    rehearse(stores, group);
    const { id, folder, tier, agent } = group;
    await putOnRecord(home, { kind: 'group-registered', group: id, details: { folder, tier, agent } });
    stores.groups.register(group);
    const channel = group.id.slice(0, group.id.indexOf(':'));
    stores.messages.saveChat({ chat: group.id, name: group.name, channel, isGroup: true });
  } catch (thrown) {
    await takeBack(directory, instructions);
    throw thrown;
  }
  return { group, folder: directory.outcome };
};
