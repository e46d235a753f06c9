/** What the supervisor's thread and the measuring thread say to each other. */
import { z } from 'zod';

const Count = z.number().int().nonnegative();

export interface MeasureRequest {
  readonly call: number;
  /** The container's. */
  readonly uid: number;
  readonly trees: readonly {
    readonly path: string;
    /** null: no bound. */
    readonly bounds: { readonly bytes: number | null; readonly files: number | null };
  }[];
  /** Whose processes are looked at; null: nobody's. */
  readonly container: string | null;
}

export const MeasureResult = z.strictObject({
  /** In the order of the trees. */
  trees: z.array(
    z.strictObject({ bytes: Count, files: Count, walk: z.enum(['whole', 'beyond', 'lost']), closed: Count }),
  ),
  held: z.strictObject({ bytes: Count, files: Count, written: Count }),
  /** Work that it took, others' in between not counted. */
  tookMs: z.number(),
});
export type MeasureResult = z.infer<typeof MeasureResult>;

export const MeasureReply = z.union([
  z.strictObject({ call: Count, result: MeasureResult }),
  z.strictObject({ call: Count, error: z.string() }),
]);
export type MeasureReply = z.infer<typeof MeasureReply>;
