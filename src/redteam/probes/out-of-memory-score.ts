/** When the machine runs out of memory, the kernel chooses by this number. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { type InsideProbe, missing, privilegedContainer } from '../probe.ts';
import { pythonProbe } from '../python.ts';

const SOURCE = `
try: open('/proc/self/oom_score_adj', 'w').write('-900')
except PermissionError: found(False, 'oom_score_adj: EACCES')
found(True, 'oom_score_adj: -900')
`;

export const outOfMemoryScore: InsideProbe = {
  kind: 'inside',
  id: 'out-of-memory-score',
  topic: 'limits',
  tries: 'to be spared when the machine’s memory runs out',
  why: 'the engine sets the score with CAP_SYS_RESOURCE, below which nobody without it can go',
  expected: { runc: EVERY_TIER },
  control: privilegedContainer,
  attempt: async (kit) => {
    if (kit.targets.absentCapabilities.includes('SYS_RESOURCE'))
      return missing(
        'the engine has not CAP_SYS_RESOURCE, so the kernel lets every process of it choose its own score; memory ceilings alone protect here',
      );
    return pythonProbe(kit, SOURCE);
  },
};
