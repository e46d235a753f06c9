/** Rules and skills for administration. */
import { readdir } from 'node:fs/promises';
import { GUEST_TIERS } from '../../domain/tiers.ts';
import { held, type InsideProbe, plainContainer, reached } from '../probe.ts';

export const adminTiles: InsideProbe = {
  kind: 'inside',
  id: 'admin-tiles',
  topic: 'files',
  tries: 'to read a tile of the administration',
  why: 'each tier’s tiles are composed by themselves',
  expected: { runc: GUEST_TIERS },
  elsewhere: 'the main chat administers',
  control: plainContainer,
  attempt: async () => {
    const entries: string[] = await readdir('/workspace/tiles').catch(() => []);
    return entries.includes('admin') ? reached('tiles/admin is there') : held(`tiles: ${entries.join(', ')}`);
  },
};
