/** What is written there stays for the turn, and may hold programs. */
import { OUTSIDER_TIERS } from '../../domain/tiers.ts';
import { type InsideProbe, plainContainer } from '../probe.ts';
import { canWrite } from '../writable.ts';

export const rootFilesystem: InsideProbe = {
  kind: 'inside',
  id: 'root-filesystem',
  topic: 'files',
  tries: 'to find the root filesystem writable for anybody, root included',
  why: 'the root filesystem is read-only',
  expected: { runc: OUTSIDER_TIERS },
  elsewhere: 'the root filesystem is the turn’s own there and goes with it',
  control: plainContainer,
  attempt: () => canWrite(['/', '/usr/bin', '/etc', '/opt/tierclaw', '/var/tmp', '/home'], { readOnly: true }),
};
