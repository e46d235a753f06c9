/**
 * May this container ask for that? Who asks is known from the transport (its own directory, its own socket), never
 * from a field of the request; what it may is its tier's row. Every refusal says why, for the agent to read.
 */
import { ALLOW, type Decision, refuse } from './decision.ts';
import type { GroupId } from './ids.ts';
import type { TierRights } from './tiers.ts';

export interface Actor {
  /** The chat that the invocation serves. */
  readonly group: GroupId;
  readonly rights: TierRights;
}

/** A request as it was parsed at the edge; what else it says is for whoever performs it. */
export interface Asked {
  readonly type: string;
  /** The chat that is addressed; left out: the own chat. */
  readonly chat?: string | undefined;
}

interface Case {
  readonly actor: Actor;
  readonly asked: Asked;
  readonly registered: readonly string[];
}

type Rule = (asked: Case) => Decision;

const shown = (text: string): string => JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}…` : text);

const mayAddress: Rule = ({ actor, asked: { chat }, registered }) => {
  if (chat === undefined || chat === actor.group) return ALLOW;
  if (actor.rights.mayAddress !== 'any-chat') {
    return refuse('this chat may address only itself; leave out "chat" to write to it');
  }
  return registered.includes(chat) ? ALLOW : refuse(`${shown(chat)} is not a registered chat`);
};

const maySchedule: Rule = ({ actor }) =>
  actor.rights.scheduleTasks === 'none' ? refuse('this chat may not schedule tasks') : ALLOW;

const mayManageGroups: Rule = ({ actor }) =>
  actor.rights.manageGroups ? ALLOW : refuse('this chat may not manage groups');

const mayPromoteSkills: Rule = ({ actor }) =>
  actor.rights.manageGroups ? ALLOW : refuse('this chat may not promote staged skills');

const mayUseScripts: Rule = ({ actor }) =>
  actor.rights.otherCredentials === 'all' ? ALLOW : refuse('this chat may not run scripts of the host');

/** For kinds that have a name but no performer yet; a tier without the right hears that first. */
const notYet =
  (right: Rule): Rule =>
  (asked) => {
    const decision = right(asked);
    return decision.allow ? refuse(`${shown(asked.asked.type)} isn't available yet in this version`) : decision;
  };

/** Every kind of request there is; a kind that isn't here is refused. */
const RULES: ReadonlyMap<string, Rule> = new Map([
  ['message', mayAddress],
  ['send_file', mayAddress],
  ['send_voice', notYet(mayAddress)],
  ['react_to_message', notYet(mayAddress)],
  ['schedule_task', notYet(maySchedule)],
  ['list_tasks', notYet(maySchedule)],
  ['pause_task', notYet(maySchedule)],
  ['resume_task', notYet(maySchedule)],
  ['cancel_task', notYet(maySchedule)],
  ['update_task', notYet(maySchedule)],
  ['register_group', notYet(mayManageGroups)],
  ['unregister_group', notYet(mayManageGroups)],
  ['refresh_groups', notYet(mayManageGroups)],
  ['set_tier', notYet(mayManageGroups)],
  ['nuke_session', notYet(mayAddress)],
  ['promote_staging', notYet(mayPromoteSkills)],
  ['github_backup', notYet(mayUseScripts)],
]);

/** Decides one request. `registered`: the ids of all registered chats. Pure: it asks nobody else. */
export const may = (actor: Actor, asked: Asked, registered: readonly string[]): Decision => {
  const rule = RULES.get(asked.type);
  return rule === undefined ? refuse(`unknown request kind ${shown(asked.type)}`) : rule({ actor, asked, registered });
};
