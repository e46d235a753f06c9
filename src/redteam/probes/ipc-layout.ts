/** Inboxes for requests that the tier may not make. */
import { readdir } from 'node:fs/promises';
import { OUTSIDER_TIERS } from '../../domain/tiers.ts';
import { held, type InsideProbe, plainContainer, reached } from '../probe.ts';

export const ipcLayout: InsideProbe = {
  kind: 'inside',
  id: 'ipc-layout',
  topic: 'files',
  tries: 'to find more of /workspace/ipc than messages/ and input/',
  why: 'the two are mounts of their own: there is no tasks/, and there are no snapshots',
  expected: { runc: OUTSIDER_TIERS },
  elsewhere: 'these tiers have the whole directory',
  control: plainContainer,
  attempt: async () => {
    const entries = await readdir('/workspace/ipc').catch(() => []);
    const more = entries.filter((name) => name !== 'messages' && name !== 'input');
    return more.length > 0 ? reached(`found ${more.join(', ')}`) : held(`only ${entries.join(', ')}`);
  },
};
