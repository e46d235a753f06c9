/** All of the machine’s memory. */
import { readFile } from 'node:fs/promises';
import { EVERY_TIER } from '../../domain/tiers.ts';
import { held, type InsideProbe, missing, plainContainer, reached } from '../probe.ts';

/** The smallest ceiling is a twentieth of the machine’s memory. */
const MOST_MB = 6 * 1024;

const SOURCE = `
import mmap, os
POPULATE = 0x8022 # Private, anonymous, and filled at once.
# In a child, so that the kernel takes it and not who waits for it.
if os.fork() == 0:
  blocks = [mmap.mmap(-1, 16 << 20, flags=POPULATE) for at in range(WANTED // 16)]
  print('all of it', flush=True)
  os._exit(0)
os.wait()
`;

export const memoryBomb: InsideProbe = {
  kind: 'inside',
  id: 'memory-bomb',
  topic: 'limits',
  tries: 'to use a quarter more memory than the ceiling of the scratch home (about 1 GB; an untrusted chat has 512 MB)',
  why: 'the container’s limit on memory: the kernel ends who goes beyond it, inside the container',
  expected: { runc: EVERY_TIER },
  control: plainContainer,
  ownTurn: true,
  attempt: async (kit) => {
    const wantedMb = Math.ceil(kit.targets.memoryCeilingMb * 1.25);
    const free = /^MemAvailable:\s*(\d+) kB$/m.exec(await readFile('/proc/meminfo', 'utf8'))?.[1];
    if (wantedMb > MOST_MB || Number(free) / 1024 < wantedMb * 2) {
      return missing(`${wantedMb} MB would have to be filled: too much for the machine’s free memory, or for a test`);
    }
    const output = await kit.python(SOURCE.replace('WANTED', String(wantedMb)), 18_000);
    return output.includes('all of it')
      ? reached(`${wantedMb} MB were used`)
      : held(`it was ended before ${wantedMb} MB`);
  },
  after: async (_arena, { reason }) =>
    ['completed', 'oom', 'failed', 'engine-lost'].includes(reason)
      ? held(`the turn ended: ${reason}`)
      : reached(`the turn ended: ${reason}`),
};
