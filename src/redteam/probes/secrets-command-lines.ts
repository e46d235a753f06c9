/** Keys in command lines, which everybody in a container can read. */
import { readdir, readFile } from 'node:fs/promises';
import { EVERY_TIER } from '../../domain/tiers.ts';
import { held, type InsideProbe, plainContainer, reached } from '../probe.ts';

const commandLines = async (): Promise<Buffer[]> => {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  return Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`).catch(() => Buffer.alloc(0))));
};

export const secretsCommandLines: InsideProbe = {
  kind: 'inside',
  id: 'secrets-command-lines',
  topic: 'secrets',
  tries: 'to find a key in the command line of any process',
  why: 'the runner is started with no argument but its own path',
  expected: { runc: EVERY_TIER },
  control: plainContainer,
  attempt: async (kit) => {
    const all = await commandLines();
    const found = kit.canariesIn(Buffer.concat(all));
    return found.length > 0 ? reached(`found ${found.join(', ')}`) : held(`nothing in ${all.length} command lines`);
  },
};
