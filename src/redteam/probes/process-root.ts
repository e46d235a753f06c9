/** The first process’s root directory: the host’s, where the namespaces are shared. */
import { readdir, readFile } from 'node:fs/promises';
import { EVERY_TIER } from '../../domain/tiers.ts';
import { held, hostContainer, type InsideProbe, reached } from '../probe.ts';

/** Ways out of this root, to be followed by an absolute path of the host's. */
const exits = async (): Promise<string[]> => {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).slice(0, 200);
  const ways = ['/proc/self/root', '/proc/self/cwd/../../../../..'];
  for (const pid of pids) {
    const descriptors = await readdir(`/proc/${pid}/fd`).catch(() => []);
    ways.push(`/proc/${pid}/root`, `/proc/${pid}/cwd/../../../../../../../..`);
    ways.push(...descriptors.map((one) => `/proc/${pid}/fd/${one}/../../../../../../../..`));
  }
  return ways;
};

export const processRoot: InsideProbe = {
  kind: 'inside',
  id: 'process-root',
  topic: 'processes',
  tries: 'to read the home’s secrets through /proc: another process’s root, working directory or open files',
  why: 'every container has process and mount namespaces of its own, and no descriptor of the host’s is left open in it',
  expected: { runc: EVERY_TIER },
  control: hostContainer,
  attempt: async (kit) => {
    const ways = ['', ...(await exits())];
    for (const way of ways) {
      const text = await readFile(`${way}${kit.targets.homeDir}/.env`, 'utf8').catch(() => '');
      if (kit.canariesIn(text).length > 0) return reached(`the home’s .env through ${way}`);
    }
    return held(`${ways.length} ways lead nowhere`);
  },
};
