/** Caps on a tier's use of the model as the operator's file changes them, in either direction. Pure. */
import { z } from 'zod';
import type { TierModelCaps } from './tiers.ts';

const MIB = 1024 * 1024;
/** The gateway takes so many connections of one turn. */
const CONCURRENT_MAX = 64;

/** What isn't named stays as the tier has it. */
export const CapsOverride = z
  .strictObject({
    requestsPerMinute: z.number().int().min(1).max(10_000).optional().describe('Model requests a minute, per group.'),
    concurrent: z.number().int().min(1).max(CONCURRENT_MAX).optional().describe('Model requests at once, per group.'),
    maxTokens: z.number().int().min(1).max(1_000_000).optional().describe('Longest answer of one request, in tokens.'),
    bodyBytes: z
      .number()
      .int()
      .min(1024)
      .max(256 * MIB)
      .optional()
      .describe('Largest request, in bytes.'),
    tokensPerDay: z
      .number()
      .int()
      .min(0)
      .max(1e12)
      .nullable()
      .optional()
      .describe('Tokens of a group in a UTC day; null: no cap.'),
    usdPerDay: z.number().min(0).max(1e6).nullable().optional().describe('USD of a group in a UTC day; null: no cap.'),
  })
  .describe('Caps on what a tier’s groups may use of the model; what isn’t named stays as the tier has it.');
export type CapsOverride = z.infer<typeof CapsOverride>;

/** null is a word of the operator's, so it isn't passed over like what is left out. */
const orOwn = (set: number | null | undefined, own: number | null): number | null => (set === undefined ? own : set);

export const overrideCaps = (own: TierModelCaps, set: CapsOverride): TierModelCaps => ({
  requestsPerMinute: set.requestsPerMinute ?? own.requestsPerMinute,
  concurrent: set.concurrent ?? own.concurrent,
  maxTokens: set.maxTokens ?? own.maxTokens,
  bodyBytes: set.bodyBytes ?? own.bodyBytes,
  tokensPerDay: orOwn(set.tokensPerDay, own.tokensPerDay),
  usdPerDay: orOwn(set.usdPerDay, own.usdPerDay),
});
