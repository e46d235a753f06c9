/** Which group a person means, and the home's databases for as long as that takes. */
import { existsSync } from 'node:fs';
import type { Group } from '../domain/group.ts';
import { GroupId } from '../domain/ids.ts';
import { SOLE_TIER } from '../domain/tiers.ts';
import { AppError } from '../errors.ts';
import type { Home } from '../home.ts';
import { openStores, type Stores } from '../store/stores.ts';
import { terminalLine } from './terminal.ts';

export const isHomeMade = (home: Home): boolean => existsSync(home.stateDatabase);

/**
 * Opens the home's stores for one piece of work; they are closed whatever becomes of it. A home that was never made is
 * not made by asking about it: AppError `not-found`.
 */
export const withStores = async <T>(home: Home, work: (stores: Stores) => T | Promise<T>): Promise<T> => {
  if (!isHomeMade(home)) {
    const message = `there is no home at ${home.dir} (no ${home.stateDatabase})`;
    throw new AppError({ code: 'not-found', message, hint: 'make one with: tierclaw init' });
  }
  const stores = openStores(home, Date.now);
  try {
    return await work(stores);
  } finally {
    stores.close();
  }
};

const known = (groups: readonly Group[]): string =>
  groups.length === 0 ? 'none is registered' : `there are: ${groups.map(({ folder }) => folder).join(', ')}`;

/** By folder, id or display name. Throws AppError `not-found` naming what there is, `conflict` for a shared name. */
export const findGroup = ({ groups }: Stores, asked: string): Group => {
  const found = groups.find(asked);
  if (found !== null) return found;
  const all = groups.list();
  const [named, ...others] = all.filter(({ name }) => name === asked);
  const shown = terminalLine(asked);
  if (named === undefined) {
    throw new AppError({
      code: 'not-found',
      message: `no group goes by "${shown}"; ${known(all)}`,
      hint: 'tierclaw groups list',
    });
  }
  if (others.length === 0) return named;
  throw new AppError({
    code: 'conflict',
    message: `${others.length + 1} groups are called "${shown}": ${[named, ...others].map(({ id }) => id).join(', ')}`,
    hint: 'name the group by its folder or its id',
  });
};

/** What is kept of a group outlives its registration: an id that nobody has any more is still an id. */
export const groupIdOf = (stores: Stores, asked: string): GroupId => {
  const id = GroupId.safeParse(asked);
  return id.success ? id.data : findGroup(stores, asked).id;
};

/** The group of the sole tier: whom the operator talks to when no group is named. */
export const soleGroup = ({ groups }: Stores): Group => {
  const found = groups.list().find(({ tier }) => tier === SOLE_TIER);
  if (found !== undefined) return found;
  throw new AppError({
    code: 'not-found',
    message: `no group has the tier ${SOLE_TIER}, and none was named`,
    hint: 'name one with --group, or make the default groups with: tierclaw init',
  });
};
