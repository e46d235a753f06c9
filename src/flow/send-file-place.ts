/**
 * Where a file lies that a container wants sent: its path resolved in the container's view, through the mounts of its
 * plan and nothing else. Pure and lexical; whoever opens it walks the names beneath the mount without links.
 */
import { type PathRefusal, toHost } from '../domain/paths.ts';
import type { MountContent, PlannedMount } from '../domain/plan.ts';

/**
 * Directories that hold what agents and people made: group, global, trusted, the agent's own and its siblings'. Not
 * the database (it would carry whole chats away, and the bytes go on changing place), not requests and answers, not
 * the socket, not the tiles, which are the home's and no work of the agent.
 */
const SENDABLE: ReadonlySet<MountContent> = new Set<MountContent>(['kept', 'public-persona']);

export interface FilePlace {
  readonly ok: true;
  readonly mount: PlannedMount;
  /** At least one. */
  readonly names: readonly [string, ...string[]];
}

const refused = (reason: string): PathRefusal => ({ ok: false, reason });

const isSendable = ({ content }: PlannedMount): boolean => SENDABLE.has(content);

const allowed = (mounts: readonly PlannedMount[]): string =>
  `files can be sent from ${mounts
    .filter(isSendable)
    .map(({ target }) => target)
    .join(', ')}`;

const shown = (path: string): string => JSON.stringify(path.length > 200 ? `${path.slice(0, 200)}…` : path);

export const filePlace = (mounts: readonly PlannedMount[], path: string): FilePlace | PathRefusal => {
  // What ".." means depends on links that only the container's kernel knows.
  if (path.split('/').includes('..')) return refused(`${shown(path)} has ".." in it; name the file without`);
  const place = toHost(mounts, path);
  if (!place.ok) return refused(`${place.reason}; ${allowed(mounts)}`);
  const { mount, relative } = place;
  if (!isSendable(mount)) return refused(`nothing is sent from ${mount.target}; ${allowed(mounts)}`);
  const [first, ...rest] = relative;
  if (first === undefined) return refused(`${shown(path)} is a directory; name one file in it`);
  return { ok: true, mount, names: [first, ...rest] };
};
