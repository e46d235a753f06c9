/**
 * Clearing away what has been kept long enough. Invariants: what is too old is found the same way whether or not it is
 * removed; a kind that fails keeps no other from its turn; a second round finds nothing.
 */
import { z } from 'zod';
import { toAppError } from '../errors.ts';

export const Collected = z.strictObject({
  kind: z.string(),
  /** Things that have been kept long enough. */
  found: z.number().int(),
  removed: z.number().int(),
  /** Given back to the disk, or that would be; null: not known (rows leave room in their database for new ones). */
  bytes: z.number().nullable(),
});
export type Collected = z.infer<typeof Collected>;

export interface Collector {
  readonly name: string;
  /** One or more kinds. Throws where it can't be done. */
  collect(dryRun: boolean): Promise<readonly Collected[]>;
}

export interface GcReport {
  readonly dryRun: boolean;
  readonly kinds: readonly Collected[];
  /** What could not be done. */
  readonly failed: readonly { readonly name: string; readonly message: string; readonly hint: string | null }[];
}

/** Never rejects. */
export const collectAll = async (collectors: readonly Collector[], dryRun: boolean): Promise<GcReport> => {
  const kinds: Collected[] = [];
  const failed: GcReport['failed'][number][] = [];
  for (const { name, collect } of collectors) {
    try {
      kinds.push(...(await collect(dryRun)));
    } catch (thrown) {
      const { message, hint } = toAppError(thrown);
      failed.push({ name, message, hint: hint ?? null });
    }
  }
  return { dryRun, kinds, failed };
};

export const removedCount = ({ kinds }: GcReport): number => kinds.reduce((sum, { removed }) => sum + removed, 0);
