import { describe, expect, it } from 'vitest';
import { GroupFolder } from '../../src/domain/ids.ts';
import { SOLE_TIER } from '../../src/domain/tiers.ts';
import { CELLAR, freshStores, group, LOBBY, openFile } from './fixture.ts';

const cellar = { id: CELLAR, name: 'Cellar', folder: GroupFolder.parse('cellar') };

describe('registered groups', () => {
  it('are listed by folder and found by folder or id', () => {
    const { stores } = freshStores();
    stores.groups.register(group());
    stores.groups.register(group(cellar));
    expect(stores.groups.list()).toEqual([group(cellar), group()]);
    expect(stores.groups.find('cellar')).toEqual(group(cellar));
    expect(stores.groups.find(LOBBY)).toEqual(group());
    expect(stores.groups.find('attic')).toBeNull();
  });

  it.each([
    ['an id twice', group({ folder: GroupFolder.parse('other') }), 'already registered'],
    ['a folder twice', group({ id: CELLAR }), 'taken by "Lobby" (local:lobby'],
  ])('refuse %s', (_what, second, words) => {
    const { stores } = freshStores();
    stores.groups.register(group());
    expect(() => stores.groups.register(second)).toThrow(
      expect.objectContaining({ code: 'conflict', message: expect.stringContaining(words) }),
    );
    expect(stores.groups.list()).toEqual([group()]);
  });

  it('refuse a second group of the sole tier, naming the present one', () => {
    const { stores } = freshStores();
    stores.groups.register(group({ tier: SOLE_TIER }));
    expect(() => stores.groups.register(group({ ...cellar, tier: SOLE_TIER }))).toThrow(
      expect.objectContaining({
        code: 'conflict',
        message: expect.stringContaining('"Lobby" (local:lobby'),
        hint: expect.stringContaining('--tier'),
      }),
    );
    stores.groups.register(group(cellar));
    expect(stores.groups.list()).toHaveLength(2);
  });

  it('are kept to one sole group by the database itself', () => {
    const { home, stores } = freshStores();
    stores.groups.register(group({ tier: SOLE_TIER }));
    stores.groups.register(group(cellar));
    const other = openFile(home.stateDatabase);
    expect(() => other.exec(`UPDATE groups SET sole = 1 WHERE folder = 'cellar'`)).toThrow(/UNIQUE/);
    expect(() => other.exec('UPDATE groups SET sole = 0')).toThrow(/CHECK/);
  });

  it('are not handed out with a tier that the table does not know', () => {
    const { home, stores } = freshStores();
    stores.groups.register(group());
    openFile(home.stateDatabase).exec(`UPDATE groups SET tier = 'root'`);
    expect(() => stores.groups.list()).toThrow(/tier/);
  });
});
