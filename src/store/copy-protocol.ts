/** What the supervisor's thread and the copying thread say to each other. */
import { z } from 'zod';
import { type ErrorCode, EXIT_STATUS } from '../errors.ts';

export const CopyWorkerData = z.strictObject({
  source: z.string(),
  published: z.string(),
  windowMessages: z.number().int().positive(),
  publishEveryMs: z.number().nonnegative(),
});
export type CopyWorkerData = z.infer<typeof CopyWorkerData>;

const Call = z.number().int();

export const CopyRequest = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('filtered'), call: Call, chat: z.string(), target: z.string() }),
  z.strictObject({
    kind: z.literal('link'),
    call: Call,
    target: z.string(),
    now: z.number(),
    notBefore: z.number().nullable(),
  }),
  /** The last one: the thread ends. */
  z.strictObject({ kind: z.literal('close') }),
]);
export type CopyRequest = z.infer<typeof CopyRequest>;

export const CopyReply = z.strictObject({
  call: Call,
  /** null: done. */
  error: z
    .strictObject({
      code: z.custom<ErrorCode>((value) => typeof value === 'string' && Object.hasOwn(EXIT_STATUS, value)),
      message: z.string(),
      hint: z.string().optional(),
    })
    .nullable(),
});
export type CopyReply = z.infer<typeof CopyReply>;
