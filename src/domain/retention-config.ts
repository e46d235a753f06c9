/** How long is kept what the program itself writes. Pure. Chats' history and the audit trail are kept unless told otherwise. */
import { z } from 'zod';

const days = (fallback: number) => z.number().int().min(1).max(36_500).nullable().default(fallback);
const forever = z.number().int().min(1).max(36_500).nullable().default(null);

export const RetentionConfig = z
  .strictObject({
    runsDays: days(90).describe('Records of turns, with their tool calls and model use.'),
    spendDays: days(400).describe('What groups used of their model budgets, by day.'),
    repliesDays: days(30).describe('Replies in the outbox that were delivered; the chat’s history keeps its own copy.'),
    deadDays: days(180).describe('Dead letters that nobody replayed or dropped.'),
    deadPerChat: z
      .number()
      .int()
      .min(1)
      .max(1_000_000)
      .default(10_000)
      .describe('Dead letters of one chat; the oldest go first.'),
    messageIdsDays: days(90).describe('Ids of settled messages, by which one that comes again is known.'),
    formerSessions: z
      .number()
      .int()
      .min(0)
      .max(1000)
      .default(5)
      .describe('Conversations that were ended, per session of a group.'),
    quarantineDays: days(30).describe('Bad files that containers handed out.'),
    sentFilesDays: days(30).describe('The host’s copies of files that were sent into chats.'),
    logsDays: days(30).describe('Logs that were put aside.'),
    replacedDatabasesDays: days(90).describe('Databases that a restore has replaced.'),
    messagesDays: forever.describe('Chats’ history; null: kept for ever.'),
    formerImages: z
      .number()
      .int()
      .min(0)
      .max(100)
      .default(1)
      .describe('Agent images of this home’s that a newer one has replaced.'),
  })
  .describe('How long things are kept, in days (null: for ever); see: tierclaw gc --dry-run');
export type RetentionConfig = z.infer<typeof RetentionConfig>;
