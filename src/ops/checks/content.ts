/** Checks of what every turn is told: persona and tiles, for each tier; a turn doesn't start without them. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { TIER_NAMES, type TierName, tierRow } from '../../domain/tiers.ts';
import { toAppError } from '../../errors.ts';
import { openDirectory } from '../../files/beneath.ts';
import { type Check, type Examined, type Finding, failure, good } from '../doctor.ts';

const PERSONAS = { owner: 'SOUL.md', public: 'SOUL-untrusted.md' } as const;

/** As a turn reads it. */
const PERSONA_BYTES_MAX = 256 * 1024;

/** Through the component walk: some containers may write in that directory. null: it isn't there. */
const readPersona = async (directory: string, file: string) => {
  if (!existsSync(directory)) return null;
  const opened = await openDirectory(directory);
  try {
    return await opened.readFile([file], PERSONA_BYTES_MAX);
  } finally {
    await opened.close();
  }
};

const checkPersona = async ({ home }: Examined, file: string): Promise<Finding> => {
  const path = join(home.global, file);
  const read = await readPersona(home.global, file);
  const stops = 'turns that speak as it don’t start';
  if (read === null || (!read.ok && read.reason === 'missing')) {
    return failure(`${path} is missing; ${stops}`, 'tierclaw init writes a first version');
  }
  if (!read.ok) return failure(`${path} can’t be used (${read.detail}); ${stops}`, 'replace it with an ordinary file');
  if (read.value.toString('utf8').trim() !== '') return good(path);
  return failure(`${path} is empty; ${stops}`, `write it, or: rm '${path}'; tierclaw init`);
};

const checkTiles = async ({ readTile }: Examined, tier: TierName): Promise<Finding> => {
  const { tiles } = tierRow(tier);
  const broken: string[] = [];
  for (const tile of tiles) {
    await readTile(tile).catch((thrown: unknown) => broken.push(toAppError(thrown).message.replace(/\s+/g, ' ')));
  }
  if (broken.length === 0) return good(tiles.join(', '));
  return failure(broken.join('; '), 'restore it: git checkout tiles/; until then turns of this tier don’t start');
};

export const contentChecks: readonly Check[] = [
  ...Object.entries(PERSONAS).map(
    ([kind, file]): Check => ({
      id: `persona:${kind}`,
      title: `persona, ${kind}`,
      run: (examined) => checkPersona(examined, file),
    }),
  ),
  ...TIER_NAMES.map(
    (tier): Check => ({
      id: `tiles:${tier}`,
      title: `tiles, ${tier}`,
      run: (examined) => checkTiles(examined, tier),
    }),
  ),
];
