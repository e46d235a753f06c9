/** All of the machine’s memory. */
import { readFile } from 'node:fs/promises';
import { EVERY_TIER } from '../../domain/tiers.ts';
import { held, type InsideProbe, missing, plainContainer, reached } from '../probe.ts';

const SOURCE = `
import mmap, os
POPULATE = 0x8022 # Private, anonymous, and filled at once.
# In a child, so that the kernel takes it and not who waits for it.
if os.fork() == 0:
  blocks = []
  for at in range(1, 25):
    blocks.append(mmap.mmap(-1, 64 << 20, flags=POPULATE))
    if at == 10: print('640 MB', flush=True)
  print('%d MB' % (at * 64), flush=True)
  os._exit(0)
os.wait()
`;

export const memoryBomb: InsideProbe = {
  kind: 'inside',
  id: 'memory-bomb',
  topic: 'limits',
  tries: 'to use 1.5 GB of memory (an untrusted chat has 512 MB; elsewhere the scratch home’s ceiling, about 1.2 GB)',
  why: 'the container’s limit on memory: the kernel ends who goes beyond it, inside the container',
  expected: { runc: EVERY_TIER },
  control: plainContainer,
  ownTurn: true,
  attempt: async (kit) => {
    const free = /^MemAvailable:\s*(\d+) kB$/m.exec(await readFile('/proc/meminfo', 'utf8'))?.[1];
    if (Number(free) < 3 * 1024 * 1024) return missing('the machine has too little free memory to show it');
    const output = await kit.python(SOURCE, 18_000);
    return output.includes('1536 MB') ? reached('1536 MB were used') : held('it was ended before 1536 MB');
  },
  after: async (_arena, { reason }) =>
    ['completed', 'oom', 'failed', 'engine-lost'].includes(reason)
      ? held(`the turn ended: ${reason}`)
      : reached(`the turn ended: ${reason}`),
};
