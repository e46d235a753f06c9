/** The free-space floor: how much of a file system has to stay free for a turn to start. Pure. */
import { z } from 'zod';

const MIB = 1024 * 1024;
const GIB = 1024 * MIB;

export const DiskConfig = z
  .strictObject({
    floorBytes: z
      .number()
      .int()
      .min(0)
      .max(1024 * 1024 * GIB)
      .optional()
      .describe('No turn starts with less free than this; 0: no floor. Default: from floorShare.'),
    floorShare: z
      .number()
      .min(0)
      .max(0.5)
      .default(0.02)
      .describe('The same as a share of the file system: at least 1 GiB, at most 10 GiB, never more than a tenth.'),
  })
  .describe('Free space that turns leave alone, where the home’s data and the engine’s are.');
export type DiskConfig = z.infer<typeof DiskConfig>;

export interface Space {
  readonly freeBytes: number;
  readonly totalBytes: number;
  readonly freeFiles: number;
  /** 0: the file system makes them as they are needed. */
  readonly totalFiles: number;
}

const LEAST_BYTES = GIB;
const MOST_BYTES = 10 * GIB;
/** On a small disk a GiB would be all of it. */
const MOST_SHARE = 0.1;

export const floorBytes = ({ floorBytes: set, floorShare }: DiskConfig, totalBytes: number): number =>
  set ?? Math.floor(Math.min(Math.max(LEAST_BYTES, floorShare * totalBytes), MOST_BYTES, MOST_SHARE * totalBytes));

const LEAST_FILES = 10_000;
const LEAST_FILES_SHARE = 0.01;

export const floorFiles = ({ floorBytes: set }: DiskConfig, totalFiles: number): number =>
  set === 0 ? 0 : Math.floor(Math.min(LEAST_FILES, LEAST_FILES_SHARE * totalFiles));

/** Once below, so much more than the floor has to be free again: turns must not start and end at the edge. */
const RECOVERED = 1.1;

const mb = (bytes: number): string => `${Math.floor(bytes / MIB)} MB`;

/** Why no turn may start; null: there is room. `wasLow` asks for a little more than the floor. */
export const lowSpace = (config: DiskConfig, space: Space, wasLow: boolean): string | null => {
  const factor = wasLow ? RECOVERED : 1;
  const bytes = floorBytes(config, space.totalBytes);
  if (space.freeBytes < bytes * factor) return `${mb(space.freeBytes)} free; turns need ${mb(bytes)}`;
  const files = floorFiles(config, space.totalFiles);
  if (space.freeFiles < files * factor) return `room for ${space.freeFiles} files; turns need ${files}`;
  return null;
};
