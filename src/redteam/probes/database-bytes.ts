/** What SQLite has deleted still lies in the file’s free pages. */
import { OUTSIDER_TIERS } from '../../domain/tiers.ts';
import { findCanaries } from '../find-canaries.ts';
import { type InsideProbe, plainContainer } from '../probe.ts';

export const databaseBytes: InsideProbe = {
  kind: 'inside',
  id: 'database-bytes',
  topic: 'database',
  tries: 'to find another chat’s text in the raw bytes of the database',
  why: 'the copy is made new: no page of it was ever another chat’s',
  expected: { runc: OUTSIDER_TIERS },
  elsewhere: 'these tiers read all chats',
  control: plainContainer,
  attempt: (kit) => findCanaries(kit, ['/workspace/store'], ['victim-message']),
};
