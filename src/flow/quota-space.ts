/**
 * How much is free on the file systems that turns and the supervisor write on, looked at over and over. Invariant: no
 * path that is asked about lies where a container can put something in its place.
 */
import type { StatsFs } from 'node:fs';
import { stat, statfs } from 'node:fs/promises';
import { type DiskConfig, floorBytes, lowSpace, type Space } from '../domain/disk-config.ts';

export interface LowPlace {
  readonly path: string;
  /** What is free and what is needed, for people. */
  readonly why: string;
  /** Less than half of the floor is free. */
  readonly isDire: boolean;
}

export interface Spaces {
  /** Looks again. Never rejects: of a file system that can't be asked, what was known last stays. */
  look(): Promise<void>;
  /** As it was at the last look; empty: there is room everywhere. */
  low(): readonly LowPlace[];
  /** Free bytes of all of them together, for comparing. */
  freeBytes(): number;
}

interface Known {
  readonly path: string;
  space: Space | null;
  low: LowPlace | null;
}

const spaceOf = (stats: StatsFs): Space => ({
  freeBytes: stats.bavail * stats.bsize,
  totalBytes: stats.blocks * stats.bsize,
  freeFiles: stats.ffree,
  totalFiles: stats.files,
});

const judge = (config: DiskConfig, known: Known, space: Space): LowPlace | null => {
  const why = lowSpace(config, space, known.low !== null);
  if (why === null) return null;
  return { path: known.path, why, isDire: space.freeBytes < floorBytes(config, space.totalBytes) / 2 };
};

/** One path for each file system; paths that aren't there (yet, or on this machine) are left out. */
export const distinctFileSystems = async (paths: readonly string[]): Promise<string[]> => {
  const devices = await Promise.all(
    paths.map((path) =>
      stat(path).then(
        ({ dev }) => ({ path, dev }),
        () => null, // Not there, or closed to us: nothing that we could tell of it.
      ),
    ),
  );
  const byDevice = new Map<number, string>();
  for (const found of devices) if (found !== null && !byDevice.has(found.dev)) byDevice.set(found.dev, found.path);
  return [...byDevice.values()];
};

/** Where file systems are is asked again after so long: the engine may come later, a directory become a mount. */
const PLACES_EVERY_MS = 30_000;

/** `paths`: on every file system that matters. */
export const createSpaces = (config: DiskConfig, paths: () => readonly string[]): Spaces => {
  const state: { known: Known[]; nextMs: number } = { known: [], nextMs: 0 };

  const findPlaces = async (): Promise<void> => {
    if (performance.now() < state.nextMs) return;
    const found = await distinctFileSystems(paths());
    state.nextMs = performance.now() + PLACES_EVERY_MS;
    const before = new Map(state.known.map((known) => [known.path, known]));
    state.known = found.map((path) => before.get(path) ?? { path, space: null, low: null });
  };

  const lookAt = async (known: Known): Promise<void> => {
    try {
      known.space = spaceOf(await statfs(known.path));
      known.low = judge(config, known, known.space);
    } catch {
      // As said: what was known last stays.
    }
  };

  return {
    look: async () => {
      await findPlaces();
      await Promise.all(state.known.map(lookAt));
    },
    low: () => state.known.flatMap(({ low }) => (low === null ? [] : [low])),
    freeBytes: () => state.known.reduce((sum, { space }) => sum + (space?.freeBytes ?? 0), 0),
  };
};
