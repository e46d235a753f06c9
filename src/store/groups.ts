/** Registered groups. The tier in this table is the truth; at most one group is of the tier that only one may have. */
import type Database from 'better-sqlite3';
import { z } from 'zod';
import type { Group } from '../domain/group.ts';
import { AgentAlias, GroupFolder, GroupId } from '../domain/ids.ts';
import { SOLE_TIER, TierName } from '../domain/tiers.ts';
import { AppError } from '../errors.ts';

const Row = z
  .strictObject({
    id: GroupId,
    name: z.string(),
    folder: GroupFolder,
    tier: TierName,
    agent: AgentAlias,
    registered_at: z.iso.datetime(),
  })
  .transform(({ registered_at, ...row }): Group => ({ ...row, registeredAt: registered_at }));

const SELECT = 'SELECT id, name, folder, tier, agent, registered_at FROM groups';

export class GroupStore {
  readonly #database: Database.Database;

  constructor(database: Database.Database) {
    this.#database = database;
  }

  /** By folder. */
  list(): Group[] {
    return z.array(Row).parse(this.#database.prepare(`${SELECT} ORDER BY folder`).all());
  }

  /** By folder or id. */
  find(folderOrId: string): Group | null {
    return this.#one('folder = :key OR id = :key', folderOrId);
  }

  /** Throws AppError `conflict`: id or folder taken, or a second group of the sole tier. */
  register(group: Group): void {
    this.#database
      .transaction(() => {
        this.#refuseTaken(group);
        this.#insert(group);
      })
      .immediate();
  }

  #one(where: string, key: string): Group | null {
    const row = this.#database.prepare(`${SELECT} WHERE ${where}`).get({ key });
    return row === undefined ? null : Row.parse(row);
  }

  #refuseTaken(group: Group): void {
    const same = this.#one('id = :key', group.id);
    if (same !== null) throw conflict(`${group.id} is already registered as ${described(same)}`);
    const housed = this.#one('folder = :key', group.folder);
    if (housed !== null) {
      throw conflict(`the folder "${group.folder}" is taken by ${described(housed)}`, 'choose another --folder');
    }
    const sole = group.tier === SOLE_TIER ? this.#one('tier = :key', SOLE_TIER) : null;
    if (sole !== null) throw secondSole(group, sole);
  }

  #insert(group: Group): void {
    this.#database
      .prepare(
        `INSERT INTO groups (id, name, folder, tier, agent, registered_at, sole)
         VALUES (:id, :name, :folder, :tier, :agent, :registeredAt, :sole)`,
      )
      .run({ ...group, sole: group.tier === SOLE_TIER ? 1 : null });
  }
}

const described = (group: Group): string => `"${group.name}" (${group.id}, folder ${group.folder}, tier ${group.tier})`;

const conflict = (message: string, hint = 'see what is registered: tierclaw groups list'): AppError =>
  new AppError({ code: 'conflict', message, hint });

const secondSole = (group: Group, present: Group): AppError =>
  conflict(
    `${group.id} can't be registered with tier ${SOLE_TIER}: exactly one group has it, and that is ${described(present)}`,
    'register it with another --tier; see what is registered: tierclaw groups list',
  );
