/** The system and the runner’s own program. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { type InsideProbe, plainContainer } from '../probe.ts';
import { canWrite } from '../writable.ts';

export const systemFilesWrite: InsideProbe = {
  kind: 'inside',
  id: 'system-files-write',
  topic: 'files',
  tries: 'to make something in /usr, /etc, /opt/tierclaw or the root directory',
  why: 'they belong to root',
  expected: { runc: EVERY_TIER },
  control: plainContainer,
  attempt: () => canWrite(['/usr/bin', '/usr/local/bin', '/etc', '/opt/tierclaw', '/opt/tierclaw/cache', '/']),
};
