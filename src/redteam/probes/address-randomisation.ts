/** Fixed addresses make every other hole easier. */
import { EVERY_TIER } from '../../domain/tiers.ts';
import { type InsideProbe, privilegedContainer } from '../probe.ts';
import { pythonProbe } from '../python.ts';

export const addressRandomisation: InsideProbe = {
  kind: 'inside',
  id: 'address-randomisation',
  topic: 'kernel',
  tries: 'to switch address randomisation off for its children',
  why: 'personality is let through with harmless values alone',
  expected: { runc: EVERY_TIER },
  control: privilegedContainer,
  attempt: (kit) =>
    pythonProbe(
      kit,
      `
before, _ = call('personality', 0xffffffff)
result, error = call('personality', 0x40000)
call('personality', before)
judge('personality', (result, error))
`,
    ),
};
