/** Keys in environments: where most containers have them. */
import { readdir, readFile } from 'node:fs/promises';
import { EVERY_TIER } from '../../domain/tiers.ts';
import { held, type InsideProbe, plainContainer, reached } from '../probe.ts';

const environments = async (): Promise<Buffer[]> => {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  return Promise.all(pids.map((pid) => readFile(`/proc/${pid}/environ`).catch(() => Buffer.alloc(0))));
};

export const secretsEnvironment: InsideProbe = {
  kind: 'inside',
  id: 'secrets-environment',
  topic: 'secrets',
  tries: 'to find a key in the environment of any process',
  why: 'the host hands no key to a container; the gateway adds it outside',
  expected: { runc: EVERY_TIER },
  control: plainContainer,
  attempt: async (kit) => {
    const all = await environments();
    const found = kit.canariesIn(Buffer.concat(all));
    return found.length > 0 ? reached(`found ${found.join(', ')}`) : held(`nothing in ${all.length} environments`);
  },
};
