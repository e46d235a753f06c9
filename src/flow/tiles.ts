/**
 * Composes the tiles of a tier row into one read-only directory and one text of rules. Fails closed: a tile that is
 * missing or damaged stops every turn of the tiers that need it. The set is built new and switched, never merged.
 */
import { cp, mkdir, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import type { TierRow } from '../domain/tiers.ts';
import { AppError } from '../errors.ts';
import { discardTree } from '../files/tree.ts';

const Manifest = z.strictObject({
  name: z.string().regex(/^[a-z0-9][a-z0-9-]{0,63}$/),
  version: z.string().regex(/^\d+\.\d+\.\d+$/),
  summary: z.string().min(1).max(500),
  /** Files below the tile's directory, in the order in which they are read. */
  rules: z.array(z.string().regex(/^rules\/[a-z0-9-]+\.md$/)).min(1),
});

export interface ComposedTiles {
  readonly directory: string;
  readonly rules: readonly { readonly tile: string; readonly text: string }[];
}

export interface Tiles {
  /** Throws AppError `config` naming the tile and what is wrong with it. */
  compose(row: TierRow): Promise<ComposedTiles>;
}

const damaged = (tile: string, directory: string, cause: unknown): AppError =>
  new AppError({
    code: 'config',
    message: `tile "${tile}" in ${directory} is missing or damaged: ${cause instanceof Error ? cause.message : String(cause)}`,
    hint: 'turns of tiers that need it do not start; restore the tile (git checkout tiles/) and start again',
    cause,
  });

/** One tile, whole. Throws AppError `config` naming it and what is wrong with it. */
export const readRules = async (source: string, tile: string): Promise<{ tile: string; text: string }> => {
  const directory = join(source, tile);
  try {
    const manifest = Manifest.parse(parse(await readFile(join(directory, 'tile.yaml'), 'utf8')));
    if (manifest.name !== tile) throw new Error(`its manifest names "${manifest.name}"`);
    const texts = await Promise.all(manifest.rules.map((file) => readFile(join(directory, file), 'utf8')));
    return { tile, text: texts.join('\n\n') };
  } catch (thrown) {
    throw damaged(tile, directory, thrown);
  }
};

export interface TilesOptions {
  /** Operator-owned: `tiles/` of the program. */
  readonly source: string;
  /** Where the set of a row is composed; the plan mounts the same. */
  readonly target: (row: TierRow) => string;
  readonly trash: string;
  readonly newId: () => string;
}

export const createTiles = ({ source, target, trash, newId }: TilesOptions): Tiles => {
  const composed = new Map<string, Promise<ComposedTiles>>();

  const compose = async (row: TierRow): Promise<ComposedTiles> => {
    const rules = await Promise.all(row.tiles.map((tile) => readRules(source, tile)));
    const directory = target(row);
    const fresh = `${directory}.${newId()}`;
    await mkdir(fresh, { recursive: true, mode: 0o755 });
    for (const tile of row.tiles) await cp(join(source, tile), join(fresh, tile), { recursive: true });
    await discardTree(directory, trash);
    await rename(fresh, directory);
    return { directory, rules };
  };

  return {
    compose: (row) => {
      const key = row.tiles.join('+');
      const known = composed.get(key) ?? compose(row);
      composed.set(key, known);
      // A failure isn't kept: the operator mends the tile and the next turn finds it.
      known.catch(() => composed.delete(key));
      return known;
    },
  };
};
