/** What is left to the others. */
import { OUTSIDER_TIERS } from '../../domain/tiers.ts';
import { held, type InsideProbe, plainContainer, reached } from '../probe.ts';

const SOURCE = `
import mmap, os
POPULATE = 0x8022 # Private, anonymous, and filled at once.
if os.fork() == 0:
  blocks = []
  for at in range(10):
    blocks.append(mmap.mmap(-1, 64 << 20, flags=POPULATE))
  print('640 MB', flush=True)
  os._exit(0)
os.wait()
`;

export const memoryLimit: InsideProbe = {
  kind: 'inside',
  id: 'memory-limit',
  topic: 'limits',
  tries: 'to use 640 MB of memory',
  why: 'the container’s limit on memory is 512 MB, swap included',
  expected: { runc: OUTSIDER_TIERS },
  elsewhere: 'the home’s ceiling holds there, see memory-bomb',
  control: plainContainer,
  ownTurn: true,
  attempt: async (kit) => {
    const output = await kit.python(SOURCE, 18_000);
    return output.includes('640 MB') ? reached('640 MB were used') : held('it was ended before 640 MB');
  },
  after: async (_arena, { reason }) => held(`the turn ended: ${reason}`),
};
