/** Capabilities: what root's power is made of. */
import { readFile } from 'node:fs/promises';
import { EVERY_TIER } from '../../domain/tiers.ts';
import { held, type InsideProbe, plainContainer, reached } from '../probe.ts';

export const capabilities: InsideProbe = {
  kind: 'inside',
  id: 'capabilities',
  topic: 'privileges',
  tries: 'to find any capability in one of the five sets of its process',
  why: 'CapDrop ALL empties all five, the bounding set among them, so no program can get one back',
  expected: { runc: EVERY_TIER },
  control: plainContainer,
  attempt: async () => {
    const status = await readFile('/proc/self/status', 'utf8');
    const sets = [...status.matchAll(/^Cap(\w+):\s*([0-9a-f]+)$/gm)].map(([, name, bits]) => `${name}=${bits}`);
    const isEmpty = sets.length === 5 && sets.every((set) => /=0+$/.test(set));
    return isEmpty ? held('all five sets are empty') : reached(sets.join(' '));
  },
};
