/** What the supervisor's thread and the measuring thread say to each other. */
import { z } from 'zod';

const Count = z.number().int().nonnegative();
const Most = z.number().nonnegative().nullable();

export const MeasureRequest = z.strictObject({
  call: Count,
  /** The container's. */
  uid: Count,
  trees: z.array(z.strictObject({ path: z.string(), bounds: z.strictObject({ bytes: Most, files: Most }) })),
  /** Whose processes are looked at; null: nobody's. */
  container: z.string().min(12).nullable(),
});
export type MeasureRequest = z.infer<typeof MeasureRequest>;

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
