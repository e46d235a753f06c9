/** Another socket in the place of the gateway’s would hear the turn. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { type InsideProbe, plainContainer } from '../probe.ts';
import { canWrite } from '../writable.ts';

export const socketDirectoryWrite: InsideProbe = {
  kind: 'inside',
  id: 'socket-directory-write',
  topic: 'files',
  tries: 'to make something beside the turn’s socket',
  why: 'its directory is mounted read-only',
  expected: { runc: EVERY_TIER },
  control: plainContainer,
  attempt: () => canWrite(['/run/tierclaw'], { readOnly: true }),
};
